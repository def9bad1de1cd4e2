"""Whether a mailbox's settings are there, and are such that git works with it."""

from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from pathlib import Path

from dulwich.config import ConfigFile

from gitmail.store.creation import CONFIG
from gitmail.store.findings import Case, Kind, replace_as_git

_TRUE = (b"true", b"yes", b"on", b"1")
_BOOLEANS = (*_TRUE, b"false", b"no", b"off", b"0", b"")
# These depend on the file system, and on what git has put into the repository since.
_FREE = {b"filemode": _BOOLEANS, b"repositoryformatversion": (b"0", b"1")}
_EXTENSIONS = (b"extensions",)
# What git takes whatever the version of the repository's format, and we do not mind.
_HARMLESS = (b"noop", b"preciousobjects", b"partialclone", b"worktreeconfig")

_Section = tuple[bytes, ...]
_Edit = Callable[[ConfigFile], None]


def check_settings(case: Case) -> None:
    """Find settings that are missing, or with which git does not work."""
    config = case.git_dir / "config"
    problem, actual = _read(config)
    if actual is None:
        case.found(Kind.SETTING, config, problem, mend=partial(_renew, case, config))
        return
    for section, name, value in _wanted():
        found = _value(actual, section, name)
        if not _fits(name, found, value):
            said = value.decode()
            was = "not set" if found is None else found.decode("utf-8", "replace")
            case.found(
                Kind.SETTING,
                config,
                f"{_key(section, name)} should be {said}, and is {was}",
                mend=partial(_set, case, config, section, name, value),
            )
    for section, name in _unwanted(actual):
        found = _value(actual, section, name) or b""
        detail = f"{_key(section, name)} is {found.decode('utf-8', 'replace')}"
        if name.lower() == b"refstorage":
            command = f"git -C {case.root} refs migrate --ref-format=files"
            case.found(Kind.SETTING, config, detail, advice=f"Undo it: {command}")
            continue
        case.found(
            Kind.SETTING,
            config,
            f"{detail}, with which git does not read the mailbox",
            mend=partial(_unset, case, config, section, name),
        )


def _read(config: Path) -> tuple[str, ConfigFile | None]:
    try:
        if b"\0" in config.read_bytes():  # a power cut leaves that
            return "it is damaged", None
        found = ConfigFile.from_path(config, expand_includes=False)
        return ("", found) if len(found) else ("it is empty", None)
    except FileNotFoundError:
        return "it is missing", None
    except ValueError as error:
        return f"it cannot be read: {error}", None


def _wanted() -> Iterator[tuple[_Section, bytes, bytes]]:
    wanted = ConfigFile.from_file(BytesIO(CONFIG.encode()))
    for section in wanted.sections():
        for name, value in wanted.items(section):
            yield section, name, value


def _unwanted(actual: ConfigFile) -> Iterator[tuple[_Section, bytes]]:
    """Yield what git refuses, or takes as a reason to look for objects elsewhere."""
    if _value(actual, (b"core",), b"worktree") is not None:
        yield (b"core",), b"worktree"
    version = _value(actual, (b"core",), b"repositoryformatversion")
    for section in actual.sections():
        if section[0].lower() != _EXTENSIONS[0]:
            continue
        for name in {name.lower() for name, _ in actual.items(section)}:
            is_usual = _value(actual, section, name) in (b"sha1", b"files")
            if name not in _HARMLESS and not (is_usual and version == b"1"):
                yield section, name


def _fits(name: bytes, found: bytes | None, wanted: bytes) -> bool:
    if found is None:
        return False
    free = _FREE.get(name.lower())
    return found.lower() in free if free else _plain(found) == _plain(wanted)


def _value(config: ConfigFile, section: _Section, name: bytes) -> bytes | None:
    try:
        return config.get(section, name)
    except KeyError:
        return None


def _plain(value: bytes) -> bytes:
    return b"true" if value.lower() in _TRUE else value.lower()


def _key(section: _Section, name: bytes) -> str:
    return f"{b'.'.join(section).decode('utf-8', 'replace')}.{name.decode()}"


def _renew(case: Case, config: Path) -> str:
    was = f", the old one {case.copy(config)}" if config.exists() else ""
    replace_as_git(config, CONFIG.encode())
    # Once there was a remote, which was named in the settings alone.
    is_known = (case.local / "remote.json").exists()
    more = "; name the remote again with: gitmail remote add URL" if is_known else ""
    return f"made anew{was}{more}"


def _set(case: Case, config: Path, section: _Section, name: bytes, value: bytes) -> str:
    text = config.read_bytes()
    found = _value(ConfigFile.from_file(BytesIO(text)), section, name)
    is_limited = name.lower() in _FREE or _plain(value) == b"true"
    if found is not None and is_limited and found.lower() not in _BOOLEANS:
        # Git takes the last one, but stumbles over an earlier one that is no value.
        return _rewrite(case, config, lambda all_: all_.set(section, name, value))
    newline = b"" if text.endswith(b"\n") or not text else b"\n"
    line = b"[%b]\n\t%b = %b\n" % (b".".join(section), name, value)
    replace_as_git(config, text + newline + line)
    return "set"


def _unset(case: Case, config: Path, section: _Section, name: bytes) -> str:
    def edit(settings: ConfigFile) -> None:
        del settings[section][name]

    return _rewrite(case, config, edit)


def _rewrite(case: Case, config: Path, edit: _Edit) -> str:
    """Write the settings anew, which leaves out what a person noted beside them."""
    settings = ConfigFile.from_file(BytesIO(config.read_bytes()))
    was = case.copy(config)
    edit(settings)
    made = BytesIO()
    settings.write_to_file(made)
    replace_as_git(config, made.getvalue())
    return f"put right, the old one {was}"
