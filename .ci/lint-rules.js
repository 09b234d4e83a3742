// The project's own lint rules, beyond oxlint's built-in ones. Loaded by .oxlintrc.json.
import { dirname, relative, resolve, sep } from 'node:path';
import { closedDoor, missingRow } from './doors.js';
import { unclearDocstring, unclearText } from './plain-english.js';

const root = resolve(import.meta.dirname, '..');

/** Matches the folder of a package. A relative import must not leave it. */
const packageFolder = /^(controller-runtime|apiserver|test|bench|plugins\/[^/]+|examples\/[^/]+)\//;

/** All entries of this repository that may be imported by name. */
const publicEntries = new Set([
  'homeostat',
  'homeostat/testing',
  '@homeostat/apiserver',
  '@homeostat/apiserver/command-line',
  '@homeostat/apiserver/endpoints',
  '@homeostat/console',
  '@homeostat/controller-runtime',
  '@homeostat/controller-runtime/api',
  '@homeostat/controller-runtime/telemetry',
  '@homeostat/controller-runtime/testing',
  '@homeostat/test',
]);

/** Runs a check on the module name of every import, re-export and import(), also of those for types only. */
function onImports(check) {
  const visit = (node) => {
    if (typeof node.source?.value === 'string') check(node, node.source.value);
  };
  return {
    ImportDeclaration: visit,
    ExportNamedDeclaration: visit,
    ExportAllDeclaration: visit,
    ImportExpression: visit,
    TSImportType: visit,
  };
}

const noExportStar = {
  create: (context) => ({
    ExportAllDeclaration: (node) =>
      context.report({
        node,
        message: 'export * would export all that is added later, too: a public entry lists its exports by name.',
      }),
  }),
};

const publicEntriesOnly = {
  create(context) {
    const file = relative(root, context.filename);
    const home = packageFolder.exec(file)?.[0];
    return onImports((node, source) => {
      if (/^(@homeostat\/|homeostat(\/|$))/.test(source) && !publicEntries.has(source)) {
        context.report({
          node,
          message: `${source} is not a public entry, so it may change at any time: import what a public entry exports.`,
        });
      }
      if (home === undefined || !source.startsWith('.')) return;
      if (relative(root, resolve(root, dirname(file), source)).startsWith(home)) return;
      context.report({ node, message: `${source} leaves the package: import another package by its public entry.` });
    });
  },
};

const doors = {
  create(context) {
    const file = relative(root, context.filename).split(sep).join('/');
    const report = (node, message) => message !== undefined && context.report({ node, message });
    return {
      Program: (node) => report(node, missingRow(file)),
      ...onImports((node, source) => report(node, closedDoor(file, source))),
      // `new URL('./worker.js', import.meta.url)` names the file of a worker thread, so it counts as an import.
      NewExpression(node) {
        const [source, base] = node.arguments;
        const isBesideModule = node.callee.name === 'URL' && base?.object?.type === 'MetaProperty';
        if (isBesideModule && /^\..*\.js$/.test(source.value)) report(node, closedDoor(file, source.value));
      },
    };
  },
};

const ambientModules = new Set(['node:timers', 'node:timers/promises', 'timers', 'timers/promises']);
const ambientMembers = new Set(['Date.now', 'Math.random', 'performance.now', 'crypto.randomUUID']);
// setImmediate is allowed: it only yields to the event loop, and does not depend on the clock.
const ambientGlobals = new Set(['setTimeout', 'setInterval']);
const ambientMessage =
  'must be passed in (as a Clock, random or uuid), so that a test can control time and randomness.';

const noAmbient = {
  create(context) {
    const report = (node, what) => context.report({ node, message: `${what} ${ambientMessage}` });
    return {
      ImportDeclaration(node) {
        if (ambientModules.has(node.source.value)) report(node, node.source.value);
      },
      ImportSpecifier(node) {
        if (node.imported.name === 'randomUUID') report(node, 'randomUUID');
      },
      MemberExpression(node) {
        const name = `${node.object.name}.${node.property.name}`;
        if (ambientMembers.has(name) || ambientGlobals.has(name.replace(/^globalThis\./, ''))) report(node, name);
      },
      CallExpression(node) {
        if (ambientGlobals.has(node.callee.name)) report(node, node.callee.name);
      },
      NewExpression(node) {
        if (node.callee.name === 'Date' && node.arguments.length === 0) report(node, 'new Date()');
      },
    };
  },
};

const plainEnglish = {
  create(context) {
    const report = (node, message) => message !== undefined && context.report({ node, message });
    return {
      Program() {
        for (const comment of context.sourceCode.getAllComments()) {
          const isDocstring = comment.type === 'Block' && comment.value.startsWith('*');
          report(comment, isDocstring ? unclearDocstring(comment.value) : unclearText(comment.value));
        }
      },
      Literal(node) {
        // A text without spaces is a value, not a sentence.
        if (typeof node.value === 'string' && node.value.includes(' ')) report(node, unclearText(node.value));
      },
      TemplateElement(node) {
        report(node, unclearText(node.value.raw));
      },
    };
  },
};

export default {
  meta: { name: 'homeostat' },
  rules: {
    'no-export-star': noExportStar,
    'public-entries-only': publicEntriesOnly,
    doors,
    'no-ambient-time-or-chance': noAmbient,
    'plain-english': plainEnglish,
  },
};
