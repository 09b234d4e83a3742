// Our side of the comparison: an API server in this process. A benchmark sends requests to it over HTTP, or lets this
// process call the server's client, without HTTP.
import { serviceOwner, startApiServer } from '@homeostat/apiserver';
import type { ApiServer, ApiServerOptions } from '@homeostat/apiserver';
import { route, ServerResponse } from '@homeostat/apiserver/endpoints';
import type { ModelDescriptor } from '@homeostat/controller-runtime/api';
import { EventLoopProbe } from '@homeostat/test';
import { answerCalls } from '../processes/answer-calls.ts';
import { endpointGroup, greetingRoute, listedPage, listRoute } from '../load/endpoint-paths.ts';
import { runInFlight } from '../measure/in-flight.ts';
import type { InFlightFigures } from '../measure/in-flight.ts';
import { newPerson, personModel } from '../load/person.ts';
import { writeLines } from './line-writer.ts';
import type { Person, PersonField } from '../load/person.ts';

/** The number of operations at the same time. */
const width = 256;

/** The number of objects that are updated and read. After the last of these objects, the first one is used again. */
const roundSize = 1_000;

let server: ApiServer;
let model: ModelDescriptor<Person>;
let probe: EventLoopProbe | undefined;
let created = 0;
let updated = 0;

/**
 * The number of persons to create. `matching` of them live in the city `home`; these persons are spread evenly over all
 * names.
 */
export interface Filling {
  readonly count: number;
  readonly matching?: number;
}

/**
 * Creates objects in the server. The JavaScript objects are made before the measurement begins, because the limit, bare
 * SQLite, also makes the bytes of its rows before its measurement begins.
 */
function create(count: number): Promise<InFlightFigures> {
  const persons = Array.from({ length: count }, () => {
    const number = created++;
    return newPerson({ name: nameOf(number), number });
  });
  const operation = (position: number): Promise<Person> => server.client.create(model, persons[position] as Person);
  return runInFlight({ count, width, operation });
}

function nameOf(number: number): string {
  return `p-${number.toString()}`;
}

async function fill({ count, matching = 0 }: Filling): Promise<void> {
  const every = matching === 0 ? Number.POSITIVE_INFINITY : Math.floor(count / matching);
  const cityOf = (number: number): string | undefined => (number % every === 0 ? 'home' : undefined);
  await runInFlight({
    count,
    width,
    operation: (number) => {
      const city = cityOf(number);
      const person = newPerson({ name: nameOf(number), number, ...(city === undefined ? {} : { city }) });
      return server.client.create(model, person);
    },
  });
}

function update(count: number): Promise<InFlightFigures> {
  const persons = Array.from({ length: count }, () => {
    // Each update has a new number, because an update without a change writes nothing.
    const number = updated++;
    return newPerson({ name: nameOf(number % roundSize), number: number + roundSize });
  });
  const operation = (position: number): Promise<Person> => server.client.update(persons[position] as Person);
  return runInFlight({ count, width, operation });
}

/** Changes each of the first `count` persons of {@link fill} once. */
async function updateEach(count: number): Promise<void> {
  const operation = (number: number): Promise<Person> =>
    server.client.update(newPerson({ name: nameOf(number), number: number + count }));
  await runInFlight({ count, width, operation });
}

function get(count: number): Promise<InFlightFigures> {
  return runInFlight({
    count,
    width,
    operation: (position) => server.client.get(model, nameOf(position % roundSize)),
  });
}

function list(count: number): Promise<InFlightFigures> {
  return runInFlight({
    count,
    width,
    operation: () => server.client.list(model, { sort: 'metadata.name,asc', page: 3, size: 20 }),
  });
}

function serveEndpoints(): void {
  const owned = server.endpoints.forOwner('bench', { group: 'people.example.com' });
  owned.add(
    route(endpointGroup)
      .GET(greetingRoute, (request) => ServerResponse.ok().json({ hello: request.pathVariable('name') }))
      .GET(listRoute, async () => ServerResponse.ok().json(await server.client.list(model, listedPage)))
      .build(),
  );
  owned.open();
}

/**
 * Returns the memory of this process in bytes: the JavaScript objects, and the buffers to which they refer. Needs
 * --expose-gc.
 */
function heldBytes(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

answerCalls({
  start: async (database: string) => {
    server = await startApiServer({ database, port: 0 });
    return server.url;
  },
  startWith: async (options: ApiServerOptions) => {
    server = await startApiServer({ port: 0, ...options });
    return server.url;
  },
  /** Registers the kind. Returns the time until it was served, in milliseconds. */
  register: async (indexes: readonly PersonField[]) => {
    model = personModel(indexes);
    const startMs = performance.now();
    server.schemeManager.register(model);
    await server.whenReady(model);
    return performance.now() - startMs;
  },
  unregister: () => server.schemeManager.unregister(model, serviceOwner),
  fill,
  create,
  update,
  updateEach,
  get,
  list,
  serveEndpoints,
  writeLines,
  heldBytes,
  /** Returns the memory of this process after a garbage collection. Needs --expose-gc. */
  memoryUse: () => {
    globalThis.gc?.();
    return { heap: process.memoryUsage().heapUsed, resident: process.memoryUsage.rss() };
  },
  memoryParts: () => {
    const { rss, arrayBuffers, heapTotal } = process.memoryUsage();
    return { resident: rss, buffers: arrayBuffers, heap: heapTotal };
  },
  url: () => server.url,
  /**
   * Returns the longest turn of the event loop since the last call, in milliseconds. The first call starts the
   * measurement.
   */
  takeLongestMs: () => (probe ??= new EventLoopProbe()).takeLongestMs(),
  stop: () => server.stop(),
});
