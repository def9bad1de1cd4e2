"""`register`, `agents`, `whois`, `retire` and `unretire`: who is who."""

from typing import TYPE_CHECKING

from gitmail.cli import late
from gitmail.cli.parser import Commands
from gitmail.cli.shell import Shell

if TYPE_CHECKING:
    from gitmail.mailbox.values import Registered


_BACK = "It comes back as soon as it acts: sends, acknowledges or registers."


def add_parser(commands: Commands) -> None:
    """Add the commands."""
    register = commands.add(
        "register",
        run_register,
        "register an agent, or change what is said of one",
        "Without NAME it is the acting agent, and without that a generated name.",
    )
    register.add_argument("name", nargs="?", metavar="NAME")
    register.add_argument("--kind", metavar="KIND", help="agent (the default) or human")
    register.add_argument("--program", metavar="P", help="the program that runs it")
    register.add_argument("--model", metavar="M", help="the model behind it")
    register.add_argument(
        "--team", action="append", metavar="T", help="a team; may be repeated"
    )
    register.add_argument("--description", metavar="TEXT", help="what it works on")

    agents = commands.add("agents", run_agents, "list the agents")
    agents.add_argument(
        "--all",
        action="store_true",
        dest="everybody",
        help="those that are idle or retired too",
    )

    whois = commands.add("whois", run_whois, "show one agent")
    whois.add_argument("name", metavar="NAME")

    for name, run, summary, more in (
        (
            "retire",
            run_retire,
            "retire an agent: nobody can write to it any more",
            _BACK,
        ),
        ("unretire", run_unretire, "bring a retired agent back", ""),
    ):
        commands.add(name, run, summary, more).add_argument("name", metavar="NAME")


def run_register(shell: Shell) -> int:
    """Register an agent."""
    args = shell.args
    registered = shell.mailbox.register(
        shell.settings.agent if args.name is None else args.name,
        kind=args.kind,
        program=args.program,
        model=args.model,
        teams=args.team,
        description=args.description,
    )
    return _show(shell, registered, "Changed")


def run_agents(shell: Shell) -> int:
    """List the agents."""
    directory = shell.mailbox.agents(all=shell.args.everybody)
    shell.show(
        lambda: late.plain.directory(directory),
        lambda: late.people.directory(directory, shell.look),
    )
    return 0


def run_whois(shell: Shell) -> int:
    """Show one agent."""
    entry = shell.mailbox.whois(shell.args.name)
    shell.show(
        lambda: {"agent": late.plain.entry(entry)},
        lambda: late.people.entry(entry, shell.look),
    )
    return 0


def run_retire(shell: Shell) -> int:
    """Retire an agent."""
    retired = shell.mailbox.retire(shell.args.name, by=shell.settings.agent)
    return _show(shell, retired, "Retired")


def run_unretire(shell: Shell) -> int:
    """Bring an agent back."""
    back = shell.mailbox.unretire(shell.args.name, by=shell.settings.agent)
    return _show(shell, back, "Brought back")


def _show(shell: Shell, registered: "Registered", verb: str) -> int:
    shell.note(registered.commit)
    shell.show(
        lambda: late.plain.registered(registered),
        lambda: late.people.registered(registered, shell.look, verb=verb),
    )
    return 0
