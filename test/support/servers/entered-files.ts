import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { Session } from 'node:inspector/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startApiServer } from '@homeostat/apiserver';
import { descriptorOf } from '@homeostat/controller-runtime/api';
import { Person } from '../models/models.ts';

// A program that prints as JSON which files of the project run for one creation over HTTP, and how many functions of
// each file run.

/**
 * The number of measured creations. Only functions that run in each creation are counted, so that a timer that fires by
 * chance is not counted.
 */
const creations = 3;

/**
 * The number of creations before the measurement, because the server compiles the schema of a kind after a hundred
 * objects.
 */
const creationsBefore = 120;

const root = fileURLToPath(new URL('../../../../', import.meta.url));

function post(url: string, name: string): Promise<void> {
  const body = JSON.stringify({
    apiVersion: 'people.example.com/v1alpha1',
    kind: 'Person',
    metadata: { name },
    spec: { name: 'Ann', age: 30 },
  });
  return new Promise((resolve, reject) => {
    const headers = { 'Content-Type': 'application/json', 'User-Agent': 'curl/8.0' };
    const sent = request(`${url}/apis/people.example.com/v1alpha1/persons`, { method: 'POST', headers }, (answer) => {
      answer.resume().on('end', () => {
        if (answer.statusCode === 201) resolve();
        else reject(new Error(`the server answered ${String(answer.statusCode)}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Returns the functions that were called since the last measurement, by source file. */
async function entered(session: Session): Promise<Map<string, Set<string>>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const found = new Map<string, Set<string>>();
  for (const { url, functions } of result) {
    const file = sourceOf(url);
    if (file === undefined) continue;
    const called = functions.filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0);
    const places = called.map(({ functionName, ranges }) => `${functionName} ${String(ranges[0]?.startOffset)}`);
    if (places.length > 0) found.set(file, new Set(places));
  }
  return found;
}

function sourceOf(url: string): string | undefined {
  if (!url.startsWith('file:')) return undefined;
  const path = fileURLToPath(url);
  const isOwn = path.startsWith(root) && /^(apiserver|controller-runtime)\/dist\//.test(path.slice(root.length));
  return isOwn ? path.slice(root.length).replace('/dist/', '/').replace(/\.js$/, '.ts') : undefined;
}

/**
 * Returns the files that all measurements have in common, each with the number of functions that ran in every
 * measurement.
 */
function common(all: readonly Map<string, Set<string>>[]): [file: string, functions: number][] {
  const [first = new Map<string, Set<string>>(), ...others] = all;
  const counted = Array.from(first, ([file, functions]): [string, number] => [
    file,
    [...functions].filter((each) => others.every((other) => other.get(file)?.has(each) === true)).length,
  ]);
  return counted.filter(([, functions]) => functions > 0);
}

const folder = await mkdtemp(join(tmpdir(), 'homeostat-entered-'));
const server = await startApiServer({ database: `sqlite:${join(folder, 'objects.db')}`, port: 0 });
const { url } = server;
try {
  server.schemeManager.register(Person);
  await server.whenReady(descriptorOf(Person));
  for (let count = 0; count < creationsBefore; count += 1) await post(url, `earlier-${String(count)}`);
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  const all: Map<string, Set<string>>[] = [];
  for (let count = 0; count < creations; count += 1) {
    await entered(session);
    await post(url, `person-${String(count)}`);
    all.push(await entered(session));
  }
  session.disconnect();
  process.stdout.write(JSON.stringify(Object.fromEntries(common(all))));
} finally {
  await server.stop();
  await rm(folder, { recursive: true });
}
