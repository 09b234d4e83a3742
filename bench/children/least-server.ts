// A server that does only the necessary work of a create or an update: it makes the object's bytes, commits them
// together with other writes, and puts an entry into the indexes. For an update, it also parses the stored object. The
// server checks nothing, notifies no watchers, and writes the same metadata for each new object.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { systemClock } from '@homeostat/controller-runtime';
import { defaultIndexes, silentLogger } from '@homeostat/controller-runtime/api';
import Koa from 'koa';
import getRawBody from 'raw-body';
import { answerCalls } from '../processes/answer-calls.ts';
import { runInFlight } from '../measure/in-flight.ts';
import type { InFlightFigures } from '../measure/in-flight.ts';
import { addedMetadata, newPerson, personModel, threeIndexes } from '../load/person.ts';
import type { Person } from '../load/person.ts';
import { loadModule } from '../processes/server-modules.ts';
import type { GroupCommit } from '../processes/server-modules.ts';

const { openStore } = await loadModule('store/open/database-url');
const { GroupCommit: Commits } = await loadModule('store/group-commit');
const { KindCache } = await loadModule('index/kind-cache');
const { createEntry } = await loadModule('index/create-entry');
const { encodeObject, withRevision } = await loadModule('registry/object/object-codec');

/** The number of writes that {@link create} has in flight at the same time. */
const width = 256;

const model = personModel(threeIndexes);
const cache = new KindCache(model, [...defaultIndexes(), ...model.indexes]);

let commits: GroupCommit;
let created = 0;

/** Stores a person, or replaces the stored one. Resolves after the commit, with the bytes of the stored object. */
async function store(person: Person): Promise<Buffer> {
  const { name } = person.metadata;
  const present = cache.get(name);
  const stored = present === undefined ? undefined : (JSON.parse(present.bytes.toString()) as Person);
  const object = { ...person, metadata: { name, ...addedMetadata, ...stored?.metadata, resourceVersion: '' } };
  const data = encodeObject(object);
  const values = cache.draft(object);
  const key = `/registry/people.example.com/persons/${name}`;
  let bytes = data;
  const operation =
    present === undefined
      ? ({ op: 'create', kind: 1, key, data } as const)
      : ({ op: 'update', kind: 1, key, data, expect: present.revision } as const);
  const outcome = await commits.submit(operation, (revision) => {
    bytes = withRevision(data, revision);
    cache.put(createEntry(object, { bytes, revision, values }));
  });
  if ('conflict' in outcome) throw new Error(`${name}: ${outcome.conflict}`);
  return bytes;
}

/** Stores new persons without HTTP, and measures the time. Makes their JavaScript objects before the measurement. */
function create(count: number): Promise<InFlightFigures> {
  const persons = Array.from({ length: count }, () => {
    const number = created++;
    return newPerson({ name: `p-${number.toString()}`, number });
  });
  return runInFlight({ count, width, operation: (position) => store(persons[position] as Person) });
}

const app = new Koa();
app.use(async (context) => {
  const text = await getRawBody(context.req, { limit: '3mb', encoding: 'utf8' });
  context.set('Content-Type', 'application/json');
  context.status = 201;
  context.body = await store(JSON.parse(text) as Person);
});

answerCalls({
  start: async (database: string) => {
    const opened = await openStore(database, { clock: systemClock, logger: silentLogger, uuid: randomUUID });
    await opened.open();
    commits = new Commits(opened, { onError: (error) => console.error(error) });
    const server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}`;
  },
  create,
});
