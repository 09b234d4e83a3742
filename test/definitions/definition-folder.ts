import { isJsonObject } from '@homeostat/controller-runtime/api';
import type { JsonObject } from '@homeostat/controller-runtime/api';
import type { HostileAnswer } from '../hostile/hostile-request.ts';
import type { HostileProcess } from '../hostile/hostile-process.ts';
import { sampleOf } from './sample-object.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** The time limit for a kind to become Established. */
const establishedWithinMs = 30_000;

/** The result of the creation of a definition and its objects on a server. */
export interface DefinitionReport {
  readonly name: string;
  /** The message with which the server refused the definition; undefined when the server accepted it. */
  readonly refusal: string | undefined;
  readonly warnings: readonly string[];
  /** The time from the request to the condition Established; undefined when the kind did not become Established. */
  readonly establishedMs: number | undefined;
  /**
   * The number of objects that the server accepted, of those in the folder and a sample made from the schema. Each
   * object is deleted again, because examples often have the same name.
   */
  readonly accepted: number;
  /** The messages with which the server refused objects. */
  readonly refused: readonly string[];
  /** True when the server refused a spec that is not an object; undefined if the schema has no spec of type object. */
  readonly refusesWrong: boolean | undefined;
  readonly longestStallMs: number;
}

export function isDefinition({ kind }: JsonObject): boolean {
  return kind === 'CustomResourceDefinition';
}

/** Creates, on the server, each definition in `documents`, one after the other. Yields a report for each definition. */
export async function* reportDefinitions(
  server: HostileProcess,
  documents: readonly JsonObject[],
): AsyncGenerator<DefinitionReport> {
  for (const document of documents.filter(isDefinition)) {
    await server.call('takeLongestMs');
    yield await reportOne(server, document, documents);
  }
}

/** Returns a report as a line of text. */
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
  const establishedMs = await established(server, definition, sinceMs);
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
    if (answer.status === 201) {
      accepted += 1;
      await server.send({ method: 'DELETE', path: `${path}/${nameIn(answer)}` });
    } else refused.push(messageOf(answer));
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
  /** The storage version; when it is not served, the first served version. */
  readonly version: string;
  readonly schema: JsonObject;
}

function partsOf({ metadata, spec }: JsonObject): DefinitionParts {
  const { group, scope, names, versions } = objectOf(spec);
  const { plural, kind } = objectOf(names);
  const all = Array.isArray(versions) ? versions.map(objectOf) : [];
  const served = all.filter((each) => each['served'] === true);
  const chosen = served.find(({ storage }) => storage === true) ?? served[0] ?? {};
  const schema = objectOf(objectOf(chosen['schema'])['openAPIV3Schema']);
  return {
    name: String(objectOf(metadata)['name']),
    group: String(group),
    scope: String(scope),
    plural: String(plural),
    kind: String(kind),
    version: String(chosen['name']),
    schema,
  };
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/**
 * Returns an object without its namespace, which may not exist on the server, and without finalizers, so that it can be
 * deleted.
 */
function withoutNamespace(object: JsonObject): JsonObject {
  const { namespace: _namespace, finalizers: _finalizers, ...metadata } = objectOf(object['metadata']);
  return { ...object, metadata };
}

function nameIn({ text }: HostileAnswer): string {
  return /"name":"([^"]+)"/.exec(text)?.[1] ?? '';
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

/**
 * The length from which a response is not parsed: {@link HostileAnswer.text} has only the first 64 KiB of a body, and
 * the `status` of a definition may come after them.
 */
const wholeLength = 60_000;

async function established(
  server: HostileProcess,
  definition: JsonObject,
  sinceMs: number,
): Promise<number | undefined> {
  const { name } = partsOf(definition);
  while (performance.now() < sinceMs + establishedWithinMs) {
    const { text } = await server.send({ method: 'GET', path: `${definitions}/${name}` });
    if (text.length < wholeLength ? isEstablished(text) : await isServed(server, definition))
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

/**
 * Returns true when the server serves the kind of a definition in the version of {@link DefinitionParts}. The check
 * requests the kind itself, because the same group and version may also have other kinds.
 */
async function isServed(server: HostileProcess, definition: JsonObject): Promise<boolean> {
  const { group, version, plural } = partsOf(definition);
  return (await server.send({ method: 'GET', path: `/apis/${group}/${version}/${plural}?limit=1` })).status === 200;
}
