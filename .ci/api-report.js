// Makes the API reports: docs/api has one page for each public entry, so that a review shows each change of the public
// API. `npm run api` writes the pages. `npm run api:check` fails when a page differs from the sources. Both read dist,
// so build first.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { CompilerState, Extractor, ExtractorConfig, ExtractorLogLevel } from '@microsoft/api-extractor';

const root = resolve(import.meta.dirname, '..');
const reportFolder = `${root}/docs/api`;
const freshFolder = `${root}/docs/api/dist`;

/** The public entries: the name of the report, the folder of the package, and the file in the package's dist. */
const entries = [
  ['homeostat', 'plugins/host', 'index'],
  ['homeostat-testing', 'plugins/host', 'testing/index'],
  ['create-homeostat', 'plugins/create-homeostat', 'index'],
  ['apiserver', 'apiserver', 'index'],
  ['apiserver-command-line', 'apiserver', 'command-line/index'],
  ['apiserver-endpoints', 'apiserver', 'endpoints/index'],
  ['controller-runtime', 'controller-runtime', 'index'],
  ['controller-runtime-api', 'controller-runtime', 'api/index'],
  ['controller-runtime-telemetry', 'controller-runtime', 'telemetry/index'],
  ['controller-runtime-testing', 'controller-runtime', 'testing/index'],
];

function configOf([name, folder, entry]) {
  return ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: `${root}/${folder}/package.json`,
    configObject: {
      projectFolder: `${root}/${folder}`,
      mainEntryPointFilePath: `${root}/${folder}/dist/${entry}.d.ts`,
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'es2023',
            lib: ['es2023', 'esnext'],
            module: 'nodenext',
            types: ['node'],
            skipLibCheck: true,
            strict: true,
          },
          files: [`${root}/${folder}/dist/${entry}.d.ts`],
        },
      },
      apiReport: { enabled: true, reportFileName: name, reportFolder: freshFolder, reportTempFolder: freshFolder },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        // Every export is public, so docstrings have no release tags such as `@public`. The report of missing tags is
        // off.
        extractorMessageReporting: {
          default: { logLevel: ExtractorLogLevel.Warning, addToApiReportFile: true },
          'ae-missing-release-tag': { logLevel: ExtractorLogLevel.None },
        },
        tsdocMessageReporting: { default: { logLevel: ExtractorLogLevel.None } },
      },
    },
  });
}

const configs = entries.map(configOf);
/**
 * The compiler's state, which all entries share: with a state for each entry, compilation would take most of the time.
 */
const compilerState = CompilerState.create(configs[0], {
  additionalEntryPoints: configs.map(({ mainEntryPointFilePath }) => mainEntryPointFilePath),
});

/** Returns the report of one entry, made from what dist has now. */
function freshReport([name], config) {
  mkdirSync(freshFolder, { recursive: true });
  const messages = [];
  Extractor.invoke(config, {
    compilerState,
    localBuild: true,
    messageCallback: (message) => {
      if (message.logLevel === ExtractorLogLevel.Error) messages.push(message.formatMessageWithLocation(root));
      message.handled = true;
    },
  });
  if (messages.length > 0) throw new Error(`the API report of ${name} cannot be made:\n${messages.join('\n')}`);
  return readFileSync(`${freshFolder}/${name}.api.md`, 'utf8');
}

function readCommitted(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return '';
    throw error;
  }
}

/** Returns the lines that only one of the two reports has, at most 40. */
function difference(committed, fresh) {
  const [old, now] = [committed.split('\n'), fresh.split('\n')];
  const gone = old.filter((line) => !now.includes(line)).map((line) => `  - ${line}`);
  const come = now.filter((line) => !old.includes(line)).map((line) => `  + ${line}`);
  return [...gone, ...come].slice(0, 40).join('\n');
}

const check = process.argv.includes('--check');
let stale = 0;
for (const [at, entry] of entries.entries()) {
  const fresh = freshReport(entry, configs[at]);
  const file = `${reportFolder}/${entry[0]}.api.md`;
  const committed = readCommitted(file);
  if (fresh === committed) continue;
  if (!check) writeFileSync(file, fresh);
  stale += 1;
  console.log(`docs/api/${entry[0]}.api.md ${check ? 'does not match what the sources export' : 'was written'}:`);
  console.log(difference(committed, fresh));
}
rmSync(freshFolder, { recursive: true, force: true });
if (check && stale > 0) {
  console.log('If the change of the public API is intended, run npm run api and commit the reports.');
  process.exitCode = 1;
}
