import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import { CORE_SCHEMA, loadAll, mergeTag } from 'js-yaml';
import type { HostileAnswer } from '../hostile/hostile-request.ts';
import type { HostileProcess } from '../hostile/hostile-process.ts';
import { sampleOf } from './sample-object.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The time for a kind to be served. */
const establishedWithinMs = 30_000;

/** What a server made of one definition. */
export interface DefinitionReport {
  readonly name: string;
  /** Why it was refused; undefined when it was accepted. */
  readonly refusal: string | undefined;
  readonly warnings: readonly string[];
  /** From the request to the condition Established; undefined when it never came. */
  readonly establishedMs: number | undefined;
  /** Objects of the folder, and a sample that is made of the schema. */
  readonly accepted: number;
  /** Why objects were refused. */
  readonly refused: readonly string[];
  /** True when an object with a spec of a wrong type was refused; undefined when the schema has no spec. */
  readonly refusesWrong: boolean | undefined;
  readonly longestStallMs: number;
}

/** Merge keys (`<<`) are of YAML 1.1; kubectl understands them. */
const yamlSchema = CORE_SCHEMA.withTags(mergeTag);

/** Returns the documents of all YAML and JSON files of a folder and the folders in it, in order. */
function readDocuments(folder: string): readonly JsonObject[] {
  return readdirSync(folder)
    .sort()
    .flatMap((name) => {
      const path = join(folder, name);
      if (statSync(path).isDirectory()) return readDocuments(path);
      if (!/\.(ya?ml|json)$/.test(name)) return [];
      return loadAll(readFileSync(path, 'utf8'), { schema: yamlSchema }).filter(isJsonObject);
    });
}

/** Gives the definitions of a folder to a server, one after the other, and reports on each. */
export async function* reportDefinitions(server: HostileProcess, folder: string): AsyncGenerator<DefinitionReport> {
  const documents = readDocuments(folder);
  for (const document of documents.filter(({ kind }) => kind === 'CustomResourceDefinition')) {
    await server.call('takeLongestMs');
    yield await reportOne(server, document, documents);
  }
}

/** Returns the line of a report. */
export function lineOf(report: DefinitionReport): string {
  const { name, refusal, warnings, establishedMs, accepted, refused, refusesWrong, longestStallMs } = report;
  const stall = `longest stall ${longestStallMs.toFixed(1)} ms`;
  if (refusal !== undefined) return `${name}: refused: ${refusal}; ${stall}`;
  const since = establishedMs === undefined ? 'not Established' : `Established in ${establishedMs.toFixed(0)} ms`;
  const wrong = refusesWrong === false ? '; a spec of a wrong type was accepted' : '';
  const why = refused.length === 0 ? '' : ` (${refused.join('; ')})`;
  const warned = warnings.length === 0 ? '0 warnings' : `${warnings.length} warnings (${warnings.join('; ')})`;
  return `${name}: accepted, ${warned}, ${since}, objects: ${accepted} accepted, ${refused.length} refused${why}${wrong}; ${stall}`;
}

async function reportOne(
  server: HostileProcess,
  definition: JsonObject,
  documents: readonly JsonObject[],
): Promise<DefinitionReport> {
  const { name, group, plural, kind, scope, version, schema } = partsOf(definition);
  const sinceMs = performance.now();
  const written = await send(server, 'POST', definitions, definition);
  const longest = async (): Promise<number> => server.call('takeLongestMs');
  const nothing = { establishedMs: undefined, accepted: 0, refused: [], refusesWrong: undefined };
  if (written.status !== 201)
    return { name, refusal: messageOf(written), warnings: [], ...nothing, longestStallMs: await longest() };
  const warnings = warningsOf(written);
  const establishedMs = await established(server, name, sinceMs);
  if (establishedMs === undefined)
    return { name, refusal: undefined, warnings, ...nothing, longestStallMs: await longest() };
  const path = `/apis/${group}/${version}/${scope === 'Namespaced' ? 'namespaces/default/' : ''}${plural}`;
  const own = documents.filter(
    (each) => each['kind'] === kind && String(each['apiVersion']).startsWith(`${group}/`) && each !== definition,
  );
  const type = { apiVersion: `${group}/${version}`, kind };
  const sampled = sampleOf(schema);
  const sample = { ...(isJsonObject(sampled) ? sampled : {}), ...type, metadata: { name: 'sample' } };
  const refused: string[] = [];
  let accepted = 0;
  for (const object of [...own, sample]) {
    const at = String(object['apiVersion']).split('/')[1] ?? version;
    const answer = await send(server, 'POST', path.replace(`/${version}/`, `/${at}/`), withoutNamespace(object));
    if (answer.status === 201) accepted += 1;
    else refused.push(messageOf(answer));
  }
  const properties = isJsonObject(schema['properties']) ? schema['properties'] : {};
  const hasSpec = isJsonObject(properties['spec']) && properties['spec']['type'] === 'object';
  const wrong = { ...sample, metadata: { name: 'wrong' }, spec: 'not an object' };
  const refusesWrong = hasSpec ? (await send(server, 'POST', path, wrong)).status === 422 : undefined;
  return {
    name,
    refusal: undefined,
    warnings,
    establishedMs,
    accepted,
    refused,
    refusesWrong,
    longestStallMs: await longest(),
  };
}

interface DefinitionParts {
  readonly name: string;
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly scope: string;
  /** The version that objects are stored in. */
  readonly version: string;
  readonly schema: JsonObject;
}

function partsOf({ metadata, spec }: JsonObject): DefinitionParts {
  const { group, scope, names, versions } = objectOf(spec);
  const { plural, kind } = objectOf(names);
  const all = Array.isArray(versions) ? versions.map(objectOf) : [];
  const stored = all.find(({ storage }) => storage === true) ?? {};
  const schema = objectOf(objectOf(stored['schema'])['openAPIV3Schema']);
  return {
    name: String(objectOf(metadata)['name']),
    group: String(group),
    scope: String(scope),
    plural: String(plural),
    kind: String(kind),
    version: String(stored['name']),
    schema,
  };
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

function withoutNamespace(object: JsonObject): JsonObject {
  const { namespace: _namespace, ...metadata } = objectOf(object['metadata']);
  return { ...object, metadata };
}

function send(server: HostileProcess, method: string, path: string, body: JsonObject): Promise<HostileAnswer> {
  return server.send({ method, path, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

function messageOf({ status, text }: HostileAnswer): string {
  try {
    return String(objectOf(JSON.parse(text))['message']);
  } catch {
    return `HTTP ${status}`;
  }
}

function warningsOf({ headers }: HostileAnswer): readonly string[] {
  const { warning } = headers;
  return warning === undefined ? [] : [warning].flat().map((each) => each.replace(/^299 - /, ''));
}

/** The start of a response that is whole; the status of a larger definition is behind what is kept of it. */
const wholeLength = 60_000;

async function established(server: HostileProcess, name: string, sinceMs: number): Promise<number | undefined> {
  while (performance.now() < sinceMs + establishedWithinMs) {
    const { text } = await server.send({ method: 'GET', path: `${definitions}/${name}` });
    if (text.length < wholeLength ? isEstablished(text) : await isServed(server, name))
      return performance.now() - sinceMs;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return undefined;
}

function isEstablished(text: string): boolean {
  const { conditions } = objectOf(objectOf(JSON.parse(text))['status']);
  const all = Array.isArray(conditions) ? conditions.map(objectOf) : [];
  return all.some(({ type, status }) => type === 'Established' && status === 'True');
}

async function isServed(server: HostileProcess, name: string): Promise<boolean> {
  const [plural = '', ...group] = name.split('.');
  const { text } = await server.send({ method: 'GET', path: `/apis/${group.join('.')}` });
  const version = objectOf(objectOf(JSON.parse(text))['preferredVersion'])['version'];
  if (typeof version !== 'string') return false;
  const path = `/apis/${group.join('.')}/${version}/${plural}?limit=1`;
  return (await server.send({ method: 'GET', path })).status === 200;
}
