import { readFileSync } from 'node:fs';
import type { ApiServerOptions } from '@homeostat/apiserver';
import { FakeClock } from '@homeostat/controller-runtime/testing';
import { expect } from 'chai';
import { TestServer } from '../servers/test-server.ts';
import { definitions, established } from './widget-definition.ts';

// oxlint-disable-next-line typescript/no-explicit-any -- JSON of a response; tests read every part of it
export type Json = any;

/**
 * A request, and the response of Kubernetes. The response is null when it was not recorded; the request is still needed
 * for the state of later ones.
 */
export interface RecordedRequest {
  readonly name: string;
  readonly request: {
    readonly method: string;
    readonly path: string;
    readonly accept?: string;
    readonly contentType?: string;
    readonly body?: unknown;
  };
  readonly response: {
    readonly status: number;
    readonly body?: Json;
    /**
     * The events of a watch. An item is null if the event was not recorded. For a refused watch, the only item is the
     * Status of the refusal.
     */
    readonly events?: readonly Json[];
  } | null;
}

export interface WireAnswer {
  readonly status: number;
  readonly body?: Json;
  readonly events?: readonly Json[];
}

interface SendOptions {
  /** If the request is a watch: called once the server has opened the watch, for example to cause its events. */
  readonly meanwhile?: (() => Promise<unknown>) | undefined;
  /**
   * True to send the request as a dry run. The recorded server refused the request, but this server accepts it; the dry
   * run keeps the stored objects as they were in the recording.
   */
  readonly isDry?: boolean;
}

export function readVector(name: string): string {
  return readFileSync(new URL(`../../../vectors/${name}`, import.meta.url), 'utf8');
}

/**
 * Maps descriptions to bodies of requests. For a very large body, the recording contains a description instead of the
 * body.
 */
const describedBodies: Readonly<Record<string, string>> = {
  '<10001 × {"op":"test","path":"/kind","value":"Person"}>': JSON.stringify(
    Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'Person' })),
  ),
  '<body over 3 MiB>': JSON.stringify({ padding: 'x'.repeat(3 * 1024 * 1024) }),
};

/** Matches a revision of at least two digits in the body of a request. */
const unknownRevision = /"(?:resourceVersion":|path":"\/metadata\/resourceVersion","value":)"(\d{2,})"/;
const uidText = /"uid":"[^"]+"/;

/**
 * Sends recorded requests to a server that serves the recorded kind. Translates uids, revisions and tokens, which
 * differ from those in the recording.
 */
export class WireReplay {
  readonly server: TestServer;
  readonly clock: FakeClock;
  /** Maps each recorded uid, revision and token to the one that this server returned in its place. */
  readonly #here = new Map<string, string>();

  private constructor(server: TestServer, clock: FakeClock) {
    this.server = server;
    this.clock = clock;
  }

  static async start(options: ApiServerOptions = {}): Promise<WireReplay> {
    const clock = new FakeClock();
    const server = await TestServer.start({ clock, ...options });
    const definition = readVector('person-crd.yaml');
    const { status, text } = await server.post(definitions, definition, { type: 'application/yaml' });
    expect(status, text).to.equal(201);
    await established(server, 'persons.demo.example.com');
    return new WireReplay(server, clock);
  }

  async send({ request, response }: RecordedRequest, { meanwhile, isDry = false }: SendOptions): Promise<WireAnswer> {
    const path = this.#translated(request.path) + (isDry ? `${request.path.includes('?') ? '&' : '?'}dryRun=All` : '');
    const headers = request.accept === undefined ? {} : { accept: request.accept };
    const isWatch =
      /[?&]watch=(?!false)|\/watch\//.test(path) && !/persons\/\w+\?watch/.test(path.replace('/watch/', '/'));
    const answer = isWatch
      ? await this.#watch(path, headers, meanwhile)
      : await this.#passingTime(
          this.server.request(request.method, path, { ...(await this.#bodyOf(request)), headers }),
        );
    this.#learn(response?.body, answer.body);
    return answer;
  }

  async #bodyOf({
    method,
    path,
    body,
    contentType,
  }: RecordedRequest['request']): Promise<{ body?: string; type: string }> {
    if (body === undefined) return { type: '' };
    if (typeof body === 'string') return { body: describedBodies[body] ?? body, type: contentType ?? '' };
    const type = contentType ?? (method === 'PATCH' ? '' : 'application/json');
    // managedFields in recorded bodies have the times of the recording, so a PUT with them would change the stored
    // ones.
    const omit = (key: string, value: unknown): unknown =>
      method === 'PUT' && key === 'managedFields' ? undefined : value;
    const text = this.#translated(JSON.stringify(body, omit));
    const [, revision] = unknownRevision.exec(text) ?? [];
    if (revision === undefined) return { body: text, type };
    // The recording does not have the read that returned this revision, so the request gets the present revision of
    // the object.
    const { metadata } = (await this.server.get(path.replace(/\/status|\/scale|\?.*/g, ''))).body;
    const current = text.replace(revision, metadata.resourceVersion as string);
    return { body: path.endsWith('/scale') ? current.replace(uidText, `"uid":"${metadata.uid}"`) : current, type };
  }

  async #watch(
    path: string,
    headers: Readonly<Record<string, string>>,
    meanwhile?: () => Promise<unknown>,
  ): Promise<WireAnswer> {
    const watch = await this.server.watch(path, headers);
    await meanwhile?.();
    await this.#passingTime(watch.end());
    return { status: watch.status, events: watch.events };
  }

  /**
   * Advances the clock until the promise is settled, for watches that end by their timeout, and for requests that wait
   * for a revision.
   */
  async #passingTime<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settle = (): void => void (isSettled = true);
    promise.then(settle, settle);
    while (!isSettled) await this.clock.advance(100);
    return promise;
  }

  #learn(recorded: Json, answered: Json): void {
    const pairs = [
      [recorded?.metadata?.uid, answered?.metadata?.uid],
      [recorded?.metadata?.resourceVersion, answered?.metadata?.resourceVersion],
      [recorded?.metadata?.continue, answered?.metadata?.continue],
    ];
    for (const [there, here] of pairs) if (there && here) this.#here.set(there as string, here as string);
  }

  /** From now on, requests contain the value `here` of this server in place of the recorded value. */
  learn(recorded: string, here: string): void {
    this.#here.set(recorded, here);
  }

  #translated(text: string): string {
    return [...this.#here].reduce((result, [there, here]) => result.replaceAll(there, here), text);
  }
}

/**
 * Returns the part of a response that is compared: without uids, revisions, times, and fields that were not recorded.
 */
export function summaryOf(answer: WireAnswer, { request, response }: RecordedRequest): object {
  const { status: code, body, events } = answer;
  if (events !== undefined && code < 400 && response?.events?.includes(null) !== true)
    return { code, events: events.map(eventOf) };
  const recorded = response?.body ?? response?.events?.[0];
  if (recorded?.kind === undefined || events !== undefined) return { code };
  return { code, ...contentOf(body, request, recorded) };
}

function eventOf({ type, object }: Json): string {
  return `${type} ${object?.kind === 'Status' ? object.code : (object?.metadata?.name ?? object?.kind)}`;
}

function contentOf(body: Json, { path }: RecordedRequest['request'], recorded: Json): object {
  const { kind, reason, details, metadata, items } = body;
  if (kind === 'Status') {
    const { name = '', group, kind: about } = details ?? {};
    const causes = (details?.causes ?? []).map((cause: Json) => `${cause.field ?? ''} ${cause.reason ?? ''}`);
    // Details are compared only if the recording has them, because this server gives more details about a wrong body.
    return {
      kind,
      reason,
      ...(recorded.details === undefined ? {} : { name, group, about }),
      ...(recorded.details?.causes === undefined ? {} : { causes: [...new Set(causes)].sort() }),
    };
  }
  if (kind === 'Table')
    return { kind, columns: body.columnDefinitions?.map(({ name }: Json) => name), rows: body.rows.length };
  if (Array.isArray(items)) {
    const names = items.map((item: Json) => nameOf(item)).toSorted();
    return { kind, items: /[?&]limit=[1-9]/.test(path) ? names.length : names };
  }
  if (metadata?.name === undefined) return { kind };
  const { labels, finalizers, deletionTimestamp } = metadata;
  return { kind, labels, finalizers, isDeleted: deletionTimestamp !== undefined, spec: body.spec, status: body.status };
}

/** Returns `generateName` if the object has it, because the generated name has a random suffix; otherwise the name. */
function nameOf({ metadata }: Json): string {
  return metadata.generateName === undefined ? metadata.name : metadata.generateName;
}
