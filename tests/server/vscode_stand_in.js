// Stands in for VS Code: what the extension asks of it is written to standard output, one JSON object a line.
"use strict";
const Module = require("node:module");
const path = require("node:path");

const [folder, settings, fixed] = process.argv.slice(2).map((word) => JSON.parse(word));
const say = (event) => console.log(JSON.stringify(event));
const commands = new Map();
const providers = new Map();

class Uri {
  constructor(scheme, file) { Object.assign(this, { scheme, path: file, fsPath: file }); }
  with({ scheme }) { return new Uri(scheme, this.path); }
  toString() { return `${this.scheme}://${this.path}`; }
}
const document = {
  uri: new Uri("file", `${folder}/model.py`),
  lineCount: 3,
  getText: () => "old\n",
  save: async () => say({ saved: true }),
};
const vscode = {
  workspace: {
    workspaceFolders: [{ uri: new Uri("file", folder) }],
    getConfiguration: (section) => ({ get: (name) => settings[`${section}.${name}`] }),
    registerTextDocumentContentProvider: (scheme, provider) => providers.set(scheme, provider),
    onDidChangeConfiguration: () => ({}),
    applyEdit: async (edit) => say({ applied: edit.text }),
  },
  window: {
    activeTextEditor: { document, selection: { active: { line: 7 } } },
    showErrorMessage: (text) => say({ error: text }),
    showInformationMessage: async (text, ...answers) => { say({ asked: text }); return answers[0]; },
    setStatusBarMessage: (text) => say({ status: text }),
  },
  commands: {
    registerCommand: (name, act) => commands.set(name, act),
    executeCommand: async (name, before, after, title) => {
      say({ ran: name, title, before: before.toString(), after: providers.get(after.scheme).provideTextDocumentContent(after) });
    },
  },
  EventEmitter: class { event() {} fire() {} },
  Range: class {},
  WorkspaceEdit: class { replace(uri, range, text) { this.text = text; } },
};
class LanguageClient {
  constructor(id, name, server, client) { say({ client: id, server, ...client }); }
  async start() { if (settings.broken) throw new Error("ENOENT"); }
  async stop() { say({ stopped: true }); }
  async sendRequest(method, { command, arguments: given }) {
    say({ method, command, given });
    return command === "ddelint.fixed" ? fixed : 2;
  }
}
const known = { vscode, "vscode-languageclient/node": { LanguageClient } };
const load = Module._load;
Module._load = (name, ...rest) => known[name] ?? load(name, ...rest);

(async () => {
  const extension = require(path.resolve(process.cwd(), "extension.js"));
  await extension.activate({ subscriptions: [] });
  say({ registered: [...commands.keys()] });
  for (const name of settings.run ?? []) await commands.get(name)();
  await extension.deactivate();
})();
