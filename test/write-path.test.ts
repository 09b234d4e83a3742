import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const run = promisify(execFile);
const page = fileURLToPath(new URL('../../docs/architecture.md', import.meta.url));
const place = /<!-- one create -->[^]*?<!-- end of one create -->/;

/** The steps of a creation in their order, and the folders whose files belong to each step. */
const stops: readonly (readonly [stop: string, folders: RegExp])[] = [
  ['The server accepts the request', /^apiserver\/server\//],
  ['Middlewares check and route the request', /^apiserver\/(http(\/(access|guards|pages))?|endpoints\/serving)\//],
  [
    'The user of the request is found, the request gets a seat, and the user is authorized',
    /^apiserver\/(identity|authorization|fairness|people)\//,
  ],
  ['Path, query, headers and view are read', /^apiserver\/http\/request\//],
  ['The body is read and parsed, within its limits', /^apiserver\/(decode|limits|protobuf)\//],
  ['The verb becomes one call of the registry', /^apiserver\/(http\/objects|registry)\//],
  ['The rules compute and check the next state', /^apiserver\/registry\/(rules|object)\//],
  ['The schema adds defaults, prunes fields and validates', /^apiserver\/schema\//],
  ['The fields are assigned to their manager', /^apiserver\/apply\//],
  [
    'Hooks, and the rules of namespaces and definitions, check the object',
    /^apiserver\/(admission|builtin|crd|webhooks|policies)\//,
  ],
  ['The write is planned and committed', /^apiserver\/(registry\/writes|turns)\//],
  ['The kind and its version are found, and the write gets a revision', /^apiserver\/registry\/(kinds|history)\//],
  ['The batch is sent to the store', /^apiserver\/(encryption|store)\//],
  ['The change is made in memory, and listeners are called', /^apiserver\/(index|controllers)\//],
  ['The response is sent', /^apiserver\/http\/response\//],
  ['Types and functions that several of these steps use', /^(apiserver\/base|controller-runtime)\//],
];

/** Returns the step of a file: the last step that names the folder of the file or a parent folder. */
function stopOf(file: string): string | undefined {
  return stops.findLast(([, folders]) => folders.test(file))?.[0];
}

/** Returns the list for docs/architecture.md: the steps of a create, and under each step its files by folder. */
function listOf(files: readonly string[]): string {
  const lines = stops.flatMap(([stop], index) => {
    const own = files.filter((file) => stopOf(file) === stop);
    const folders = [...new Set(own.map(dirname))];
    return [
      `- **${String(index + 1)}. ${stop}**`,
      ...folders.map((folder) => `  - ${folder}: ${namesIn(folder, own)}`),
    ];
  });
  return ['<!-- one create -->', '', ...lines, '', '<!-- end of one create -->'].join('\n');
}

function namesIn(folder: string, files: readonly string[]): string {
  const names = files.filter((file) => dirname(file) === folder).map((file) => `\`${basename(file)}\``);
  return names.join(', ');
}

describe('the path of a creation over HTTP through the code [slow]', function () {
  this.timeout(30_000);
  let entered: Readonly<Record<string, number>>;
  let list: string;

  before(async () => {
    const program = fileURLToPath(new URL('./support/servers/entered-files.js', import.meta.url));
    // The program counts files, so it has to load the files instead of bundles.
    const withoutBundles = new URL('../../.ci/bundles/without-bundles.js', import.meta.url).href;
    const { stdout } = await run(process.execPath, ['--import', withoutBundles, program]);
    entered = JSON.parse(stdout) as Readonly<Record<string, number>>;
    list = listOf(Object.keys(entered).sort());
    const text = await readFile(page, 'utf8');
    expect(text).to.match(place);
    if (process.env['WRITE_ONE_CREATE'] === '1') {
      await writeFile(
        page,
        text.replace(place, () => list),
      );
    }
  });

  it('enters exactly the files that docs/architecture.md lists', async () => {
    expect(place.exec(await readFile(page, 'utf8'))?.[0]).to.equal(list);
  });

  it('enters only files whose folder belongs to a step of the list in docs/architecture.md', () => {
    expect(Object.keys(entered).filter((file) => stopOf(file) === undefined)).to.deep.equal([]);
  });

  it('enters at most 66 files and 223 functions of the API server', () => {
    const own = Object.entries(entered).filter(([file]) => file.startsWith('apiserver/'));
    expect(own.length).to.be.at.most(66);
    expect(own.reduce((sum, [, functions]) => sum + functions, 0)).to.be.at.most(223);
  });
});
