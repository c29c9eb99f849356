// Starts `ddelint server`, and adds what the protocol has no place for: tracing by a command, and a preview of all fixes.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

const PREVIEW = "ddelint-preview";
let client;

/** How the server is started, as the settings say. */
function server() {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? "";
  const words = vscode.workspace.getConfiguration("ddelint").get("command");
  const [command, ...args] = words.map((word) => word.replaceAll("${workspaceFolder}", folder));
  return { command, args };
}

async function start() {
  const onType = vscode.workspace.getConfiguration("ddelint").get("onType");
  client = new LanguageClient("ddelint", "ddelint", server(), {
    documentSelector: [{ language: "python", scheme: "file" }],
    initializationOptions: { onType },
  });
  try {
    await client.start();
  } catch (error) {
    const { command } = server();
    vscode.window.showErrorMessage(
      `ddelint: "${command}" does not start (pip install 'ddelint[server]', or set ddelint.command): ${error.message}`,
    );
  }
}

async function restart() {
  await client?.stop().catch(() => {});
  await start();
}

/** Ask the server for one of its commands. */
const ask = (command, ...args) => client.sendRequest("workspace/executeCommand", { command, arguments: args });

/** Trace the entry around the cursor; a trace runs the file on disk, so it is saved first. */
async function traceHere() {
  const editor = vscode.window.activeTextEditor;
  if (!editor) return;
  await editor.document.save();
  const found = await ask("ddelint.trace", editor.document.uri.toString(), editor.selection.active.line);
  if (typeof found === "number") {
    const what = found === 1 ? "1 finding" : `${found} findings`;
    vscode.window.setStatusBarMessage(`ddelint: traced, ${what}`, 5000);
  }
}

/** Show all safe fixes beside the text as it is, and apply them where that is wanted. */
async function previewFixes() {
  const document = vscode.window.activeTextEditor?.document;
  if (!document) return;
  const fixed = await ask("ddelint.fixed", document.uri.toString());
  if (typeof fixed !== "string" || fixed === document.getText()) {
    vscode.window.showInformationMessage("ddelint: there is nothing that a safe fix would change");
    return;
  }
  previewed.set(document.uri.path, fixed);
  const after = document.uri.with({ scheme: PREVIEW });
  changed.fire(after);
  await vscode.commands.executeCommand("vscode.diff", document.uri, after, "ddelint: safe fixes");
  const answer = await vscode.window.showInformationMessage("ddelint: apply these fixes?", "Apply");
  if (answer !== "Apply") return;
  const edit = new vscode.WorkspaceEdit();
  edit.replace(document.uri, new vscode.Range(0, 0, document.lineCount, 0), fixed);
  await vscode.workspace.applyEdit(edit);
}

const previewed = new Map();
const changed = new vscode.EventEmitter();

async function activate(context) {
  context.subscriptions.push(
    changed,
    vscode.workspace.registerTextDocumentContentProvider(PREVIEW, {
      onDidChange: changed.event,
      provideTextDocumentContent: (uri) => previewed.get(uri.path) ?? "",
    }),
    vscode.commands.registerCommand("ddelint.traceHere", traceHere),
    vscode.commands.registerCommand("ddelint.previewFixes", previewFixes),
    vscode.commands.registerCommand("ddelint.restart", restart),
    vscode.workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("ddelint") && restart()),
  );
  await start();
}

const deactivate = () => client?.stop();

module.exports = { activate, deactivate };
