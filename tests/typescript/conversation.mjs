// Two servers, one conversation, by a client from the TypeScript side.
// Arguments: "handshake" (the SDK of the older era) or "2026-07-28" (the newer client),
// then the command that starts a server, as a JSON list with NAME for the agent.
// Prints one JSON object for the test to judge.

const [, , era, commandText] = process.argv;
const isNew = era !== "handshake";
const { Client } = isNew
  ? await import("@modelcontextprotocol/client")
  : await import("@modelcontextprotocol/sdk/client/index.js");
const { StdioClientTransport } = isNew
  ? await import("@modelcontextprotocol/client/stdio")
  : await import("@modelcontextprotocol/sdk/client/stdio.js");

async function connect(name) {
  const [command, ...args] = JSON.parse(commandText).map((each) =>
    each === "NAME" ? name : each,
  );
  const options = isNew ? { versionNegotiation: { mode: "auto" } } : {};
  const client = new Client({ name: "test", version: "1" }, options);
  const transport = new StdioClientTransport({ command, args, env: process.env });
  await client.connect(transport);
  return client;
}

function call(client, name, args, options) {
  const params = { name, arguments: args };
  return isNew
    ? client.callTool(params, options)
    : client.callTool(params, undefined, options);
}

async function outcome(promise) {
  try {
    return await promise;
  } catch (error) {
    return { thrown: error.code ?? error.name };
  }
}

const reviewer = await connect("reviewer");
const builder = await connect("builder");
const found = {
  tools: (await builder.listTools()).tools.length,
  instructions: builder.getInstructions(),
  version: builder.getNegotiatedProtocolVersion?.(),
};

const wait = call(reviewer, "message_wait", { timeout_s: 40, ack: true });
await call(reviewer, "mailbox_status", {});
const sent = await call(builder, "message_send", { to: "reviewer", body: "Grüße ✓" });
found.sent = sent.structuredContent.message.id;
found.page = (await wait).structuredContent;

const stop = new AbortController();
const cancelled = outcome(
  call(reviewer, "message_wait", { timeout_s: 40, ack: true }, { signal: stop.signal }),
);
await call(reviewer, "mailbox_status", {});
stop.abort();
await cancelled;
await call(reviewer, "mailbox_status", {});
await call(builder, "message_send", { to: ["reviewer"], body: "after the cancel" });
found.afterCancel = (await call(reviewer, "message_poll", {})).structuredContent;

found.refused = await outcome(call(builder, "message_poll", { limit: "5" }));
found.surrogate = await outcome(
  call(builder, "message_send", { to: ["reviewer"], body: "half \ud800" }),
);
const inbox = await reviewer.readResource({ uri: "gitmail://inbox" });
found.inbox = JSON.parse(inbox.contents[0].text).messages.length;
found.missing = await outcome(reviewer.readResource({ uri: "gitmail://room/none" }));

const slot = { scope: "fact", entity: "Größe / Maß", attribute: "now" };
found.cited = found.afterCancel.messages[0].id;
const fact = {
  ...slot,
  value: "Größe: 1 ✓",
  source: `message:${found.cited}`,
  ack_source: true,
  expected: "none",
};
found.set = (await call(reviewer, "memory_set", fact)).structuredContent;
found.got = (await call(builder, "memory_get", slot)).structuredContent;
found.stale = await call(builder, "memory_set", { ...slot, value: "2", expected: "none" });
const path = [slot.scope, slot.entity, slot.attribute].map(encodeURIComponent).join("/");
const remembered = await builder.readResource({ uri: `gitmail://memory/${path}` });
found.slot = JSON.parse(remembered.contents[0].text);

await reviewer.close();
await builder.close();
console.log(JSON.stringify(found));
