// Drives `co-tui acp` with the npm SDK's client: prompt, permission, plan, mode, cancel, load and fork.
// Started by `python -m tests.acp_clients`, whose scripted provider gives the replies.
import { spawn } from "node:child_process";
import { createWriteStream } from "node:fs";
import { pathToFileURL } from "node:url";
import path from "node:path";
import { Readable, Writable } from "node:stream";

const [sdk, cwd, recordTo, program, ...args] = process.argv.slice(2);
const acp = await import(pathToFileURL(path.join(sdk, "dist/v1/unstable/acp.js")));
const { agent: methods, client: ours } = acp.methods;

const check = (condition, what) => {
  if (!condition) throw new Error(`Not so: ${what}`);
  console.log(`ok  ${what}`);
};
const record = createWriteStream(recordTo);
const recorded = (byAgent) =>
  new TransformStream({
    transform(message, controller) {
      record.write(JSON.stringify({ by_agent: byAgent, message }) + "\n");
      controller.enqueue(message);
    },
  });

const child = spawn(program, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const raw = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const outgoing = recorded(false);
outgoing.readable.pipeTo(raw.writable).catch(() => {});
const stream = { writable: outgoing.writable, readable: raw.readable.pipeThrough(recorded(true)) };

const updates = [];
const kinds = () => updates.map((each) => each.sessionUpdate);
const said = (kind) =>
  updates.filter((each) => each.sessionUpdate === kind).map((each) => each.content.text).join("");
let answer = "once";
let asked;
const app = acp
  .client({ name: "checks" })
  .onNotification(ours.session.update, ({ params }) => { updates.push(params.update); })
  .onRequest(ours.session.requestPermission, async ({ params }) => {
    asked?.(params);
    if (answer === "never") await new Promise(() => {});
    return { outcome: { outcome: "selected", optionId: answer } };
  })
  .onRequest(ours.elicitation.create, ({ params }) => ({
    action: "accept",
    content: params.requestedSchema.properties.choice ? { choice: "1" } : {},
  }));

await app.connectWith(stream, async (co) => {
  const text = (words) => [{ type: "text", text: words }];
  const hello = await co.request(methods.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION,
    clientCapabilities: { elicitation: { form: {} } },
  });
  check(hello.agentInfo.name === "co-tui" && hello.agentCapabilities.loadSession, "it introduces itself");
  const { sessionId, modes } = await co.request(methods.session.new, { cwd, mcpServers: [] });
  check(modes.currentModeId === "ask", "a session starts in mode ask");
  const first = await co.request(methods.session.prompt, { sessionId, prompt: text("Begin") });
  check(first.stopReason === "end_turn" && said("agent_message_chunk").includes("All done."), "a prompt is answered");
  check(kinds().includes("plan") && kinds().includes("usage_update"), "plan and usage are updated");
  const done = updates.filter((each) => each.sessionUpdate === "tool_call_update" && each.status === "completed");
  check(done.length >= 2, "calls complete after permission and a form");

  answer = "never";
  const asking = new Promise((resolve) => { asked = resolve; });
  const turn = co.request(methods.session.prompt, { sessionId, prompt: text("Again") });
  await asking;
  await co.notify(methods.session.cancel, { sessionId });
  check((await turn).stopReason === "cancelled", "cancel ends a turn that asks");
  const last = updates.filter((each) => each.sessionUpdate === "tool_call_update").at(-1);
  check(last.status === "failed", "a cancelled call is over");

  await co.request(methods.session.setMode, { sessionId, modeId: "plan" });
  check(kinds().includes("current_mode_update"), "the mode changes");
  await co.request(methods.session.close, { sessionId });
  updates.length = 0;
  await co.request(methods.session.load, { sessionId, cwd, mcpServers: [] });
  check(said("user_message_chunk").startsWith("Begin"), "load replays it");
  const fork = await co.request(methods.session.fork, { sessionId, cwd, mcpServers: [] });
  const forked = await co.request(methods.session.prompt, { sessionId: fork.sessionId, prompt: text("Continue") });
  check(forked.stopReason === "end_turn" && said("agent_message_chunk").includes("Forked."), "the fork is answered");
});
child.stdin.end();
const code = await new Promise((resolve) => child.on("exit", resolve));
check(code === 0, "it ends with the editor");
record.end();
