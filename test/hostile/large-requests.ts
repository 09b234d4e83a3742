import { newThing } from './models.ts';
import {
  apply,
  applyPatch,
  create,
  fields,
  get,
  itemsOwner,
  jsonPatch,
  keyedLists,
  managers,
  maps,
  maxFields,
  maxNodes,
  mergePatch,
  metadataAlone,
  mostItems,
  namespaceMessage,
  patch,
  post,
  put,
  randomLetters,
  repeat,
  storedItems,
  table,
  yaml,
} from './request-makers.ts';
import type { LargeRequest } from './request-makers.ts';

const bodies: readonly LargeRequest[] = [
  { name: 'JSON: 1,400,000 numbers', request: create({ any: { a: repeat(1_400_000, () => 0) } }) },
  { name: 'JSON: 1,000,000 empty lists', request: create({ any: { a: repeat(1_000_000, () => []) } }) },
  { name: 'JSON: 200,000 fields of one object', request: create({ any: fields(200_000, 0) }) },
  { name: 'JSON: as many nodes as may be', request: create({ any: { a: repeat(maxNodes / 2 - 50, () => []) } }) },
  { name: 'JSON: objects as large as may be', request: create({ any: maps(9, 0) }) },
  { name: 'JSON: a string of 2.9 MB', request: create({ name: 'x'.repeat(2_900_000) }) },
  { name: 'JSON: 1,400,000 backslashes', request: create({ name: '\\'.repeat(1_400_000) }) },
  {
    name: 'JSON: broken at its end',
    request: () => post(`${JSON.stringify(newThing('x', { any: repeat(maxNodes - 50, () => 0) }))}x`),
  },
  {
    name: 'JSON: a field twice, at its end',
    request: () =>
      post(JSON.stringify(newThing('x', { any: repeat(maxNodes - 50, () => 0) })).replace(/}$/, ',"spec":{}}')),
  },
  {
    name: 'JSON: 250 KB broken at its end',
    request: () => post(`${JSON.stringify(newThing('x', { any: repeat(120_000, () => 0) }))}x`),
  },
  {
    name: 'a pattern that meets a new set of states with each character',
    request: (object) => create({ code: randomLetters(900, object) })(object),
  },
  {
    name: 'a long text, and a pattern that meets many states',
    request: (object) => create({ code: randomLetters(60_000, object) })(object),
  },
  { name: 'items that get a default', request: create({ list: repeat(70_000, () => ({})) }) },
  { name: 'items with unknown fields', request: create({ list: repeat(45_000, () => ({ z: 1 })) }) },
  {
    name: 'items with an unknown field each',
    request: create({ list: repeat(45_000, (index) => ({ [`z${index}`]: 1 })) }),
  },
  { name: 'items of another type', request: create({ list: repeat(140_000, () => 1) }) },
  { name: '100,000 labels', request: create({}, { labels: fields(100_000, 'v') }) },
  { name: 'as many labels as may be', request: create({}, { labels: fields(maxFields - 10, 'v') }) },
  { name: 'as many bad labels as may be', request: create({}, { labels: fields(maxFields - 10, 'v v') }) },
  { name: 'as many annotations as may be', request: create({}, { annotations: fields(maxFields - 10, 'v') }) },
  { name: '100,000 finalizers', request: create({}, { finalizers: repeat(100_000, (index) => `a.b/c${index}`) }) },
  {
    name: 'as many finalizers as may be',
    request: create({}, { finalizers: repeat(maxFields, (index) => `a.b/c${index}`) }),
  },
  {
    name: 'as many owners as may be',
    request: create(
      {},
      {
        ownerReferences: repeat(maxFields, (index) => ({
          apiVersion: 'v1',
          kind: 'Namespace',
          name: `n${index}`,
          uid: `u${index}`,
        })),
      },
    ),
  },
  {
    name: 'a list of type map, 60,000 items',
    request: create({ keyed: repeat(60_000, (index) => ({ k: `k${index}` })) }),
  },
  {
    name: 'a list of type map, as large as may be',
    request: create({ keyed: repeat(maxFields, (index) => ({ k: `k${index}`, v: 'v' })) }),
  },
  { name: 'a list of type map, all items the same', request: create({ keyed: repeat(maxFields, () => ({ k: 'k' })) }) },
  { name: 'a list of type set, 100,000 items', request: create({ set: repeat(100_000, (index) => `k${index}`) }) },
  {
    name: 'a list of type set, as large as may be',
    request: create({ set: repeat(maxFields, (index) => `k${index}`) }),
  },
  { name: 'YAML: 1,000,000 empty lists', request: yaml(`    a: [${'[],'.repeat(900_000)}]\n`) },
  { name: 'YAML: as many items as may be', request: yaml(`    a:\n${'    - a\n'.repeat(maxNodes - 50)}`) },
  { name: 'YAML: 150,000 fields', request: yaml(repeat(150_000, (index) => `    k${index}: v\n`).join('')) },
  { name: 'YAML: folded lines', request: yaml(`    a: >\n${'      a\n'.repeat(350_000)}`) },
  { name: 'YAML: aliases', request: yaml(`    a: &a [${'0,'.repeat(30_000)}0]\n    b: [${'*a,'.repeat(90)}]\n`) },
  { name: 'YAML: 500,000 documents', request: () => post('--- 1\n'.repeat(500_000), 'application/yaml') },
  { name: 'YAML: 32 KB of documents', request: () => post('--- 1\n'.repeat(5400), 'application/yaml') },
  {
    name: 'protobuf: 150,000 labels',
    request: () =>
      post(namespaceMessage(150_000) as never, 'application/vnd.kubernetes.protobuf', '/api/v1/namespaces'),
  },
];

const large = create({ any: { a: repeat(140_000, () => 0) } });

const patches: readonly LargeRequest[] = [
  {
    name: 'JSON patch: 1,000 moves of a large value',
    before: (object) => [large(object)],
    request: patch(
      jsonPatch,
      repeat(1000, (index) => ({
        op: 'move',
        from: `/spec/any/${'ab'[index % 2]}`,
        path: `/spec/any/${'ba'[index % 2]}`,
      })),
    ),
  },
  {
    name: 'JSON patch: 1,000 moves to deeper places',
    before: (object) => [large(object)],
    request: patch(jsonPatch, [
      { op: 'add', path: '/spec/any/x', value: {} },
      ...repeat(1000, (index) => ({
        op: 'move',
        from: `/spec/any/${['a', 'x/b'][index % 2]}`,
        path: `/spec/any/${['x/b', 'a'][index % 2]}`,
      })),
    ]),
  },
  {
    name: 'JSON patch: 1,000 copies of a large value',
    before: (object) => [large(object)],
    request: patch(
      jsonPatch,
      repeat(1000, (index) => ({ op: 'copy', from: '/spec/any/a', path: `/spec/any/b${index}` })),
    ),
  },
  {
    name: 'JSON patch: tests of a large value',
    before: (object) => [large(object)],
    request: patch(jsonPatch, [{ op: 'test', path: '/spec/any/a', value: repeat(140_000, () => 0) }]),
  },
  {
    name: 'JSON patch: 10,000 additions in front',
    before: (object) => [large(object)],
    request: patch(
      jsonPatch,
      repeat(10_000, () => ({ op: 'add', path: '/spec/any/a/0', value: 0 })),
    ),
  },
  {
    name: 'JSON patch: removal of a large value, and back',
    before: (object) => [large(object)],
    request: patch(jsonPatch, [
      { op: 'remove', path: '/spec/any/a' },
      { op: 'add', path: '/spec/any/a', value: repeat(140_000, () => 1) },
    ]),
  },
  {
    name: 'JSON patch: a pointer of 2.8 MB',
    before: (object) => [large(object)],
    request: patch(jsonPatch, [{ op: 'test', path: '/a'.repeat(1_400_000), value: 0 }]),
  },
  {
    name: 'JSON patch: 10,000 long pointers',
    before: (object) => [large(object)],
    request: patch(
      jsonPatch,
      repeat(10_000, () => ({ op: 'test', path: `/spec${'/a'.repeat(100)}`, value: 0 })),
    ),
  },
  {
    name: 'merge patch: a small one of a large object',
    before: (object) => [create({ any: maps(5, 'v') })(object)],
    request: patch(mergePatch, { spec: { name: 'n' } }),
  },
  {
    name: 'merge patch: large objects',
    before: (object) => [create({ name: 'a' })(object)],
    request: patch(mergePatch, { spec: { any: maps(5, 'v') } }),
  },
];

const applies: readonly LargeRequest[] = [
  { name: 'apply: 100,000 fields', request: apply({ any: fields(100_000, 'v') }, 'a') },
  { name: 'apply: as many fields as may be', request: apply({ any: maps(4, 'v') }, 'a') },
  {
    name: 'apply: as many conflicts as may be',
    before: (object) => [apply({ any: maps(4, 'v') }, 'a')(object)],
    request: apply({ any: maps(4, 'w') }, 'b'),
  },
  {
    name: 'apply: as many fields taken by force as may be',
    before: (object) => [apply({ any: maps(4, 'v') }, 'a')(object)],
    request: apply({ any: maps(4, 'w') }, 'b&force=true'),
  },
  {
    name: 'apply: a small one to a large object',
    before: (object) => [apply({ any: maps(4, 'v') }, 'a')(object)],
    request: apply({ name: 'n' }, 'b'),
  },
  {
    name: 'apply: conflicts in a list of type map',
    before: (object) => [apply({ keyed: repeat(maxFields, (index) => ({ k: `k${index}`, v: 'a' })) }, 'a')(object)],
    request: apply({ keyed: repeat(maxFields, (index) => ({ k: `k${index}`, v: 'b' })) }, 'b'),
  },
  {
    name: 'apply: many lists of type map, as large as may be',
    request: apply(keyedLists(mostItems, 'v'), 'a'),
  },
  {
    name: 'apply: conflicts in many lists of type map',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: apply(keyedLists(storedItems, 'w'), 'b'),
  },
  {
    name: 'apply: many lists of type map, by force',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: apply(keyedLists(mostItems, 'w'), 'b&force=true'),
  },
  {
    name: 'apply: removal of many lists of type map',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: apply({ name: 'n' }, 'a'),
  },
  {
    name: 'apply: an object of 8,000 managers',
    before: (object) => [create({ name: 'n' })(object), put({ name: 'm' }, managers('Apply'))(object)],
    request: apply({ name: 'm' }, 'z'),
  },
  {
    name: 'apply: broken JSON, which is no YAML either',
    request: patch(
      applyPatch,
      `${JSON.stringify(newThing('x', { any: repeat(maxNodes - 50, () => 0) }))} x`,
      '?fieldManager=a',
    ),
  },
];

const updates: readonly LargeRequest[] = [
  { name: 'creation: many lists of type map', request: create(keyedLists(mostItems, 'v')) },
  {
    name: 'update: many lists of type map',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: put(keyedLists(mostItems, 'w')),
  },
  {
    name: 'update: removal of many lists of type map',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: put({}),
  },
  {
    name: 'update: the fields of 8,000 managers',
    before: (object) => [create({ name: 'n' })(object)],
    request: put({ name: 'm' }, managers('Update')),
  },
  {
    name: 'update: a manager of 60,000 items',
    before: (object) => [create({ name: 'n' })(object)],
    request: put({ name: 'm' }, itemsOwner()),
  },
];

const reads: readonly LargeRequest[] = [
  {
    name: 'a large object as YAML',
    before: (object) => [create({ any: maps(5, 'v') })(object)],
    request: get('/<name>', 'application/yaml'),
  },
  {
    name: 'a large object as a Table',
    before: (object) => [create({ any: maps(5, 'v') })(object)],
    request: get('/<name>', table),
  },
];

/** Requests for all objects of a kind. */
export const listRequests: readonly LargeRequest[] = [
  { name: 'list', request: get('') },
  { name: 'list: YAML', request: get('', 'application/yaml') },
  { name: 'list: Table', request: get('', table) },
  { name: 'list: metadata alone', request: get('', metadataAlone) },
  {
    name: 'list: a field selector of 100 requirements',
    request: get(`?fieldSelector=${repeat(100, (index) => `spec.weight!=${index + 1000}`).join(',')}`),
  },
  {
    name: 'list: a label selector of 100 requirements',
    request: get(`?labelSelector=${repeat(100, (index) => `app!=x${index}`).join(',')}`),
  },
  { name: 'list: sorted', request: get('?sort=spec.weight,desc&sort=spec.name,asc&size=100') },
  { name: 'list: all, by two sort keys', request: get('?sort=spec.weight,desc&sort=spec.name,asc') },
  { name: 'export', request: () => ({ method: 'GET', path: '/export' }) },
];

/** Requests that need an index that the kind does not have before the first of them. */
export const firstRequests: readonly LargeRequest[] = [
  { name: 'list: the first label selector', request: get('?labelSelector=app%3Dapp-1&size=20') },
  { name: 'list: the first sort by many values', request: get('?sort=spec.tags&size=20') },
  { name: 'list: the first sort by name', request: get('?sort=name&size=20') },
];

export const largeRequests: readonly LargeRequest[] = [...bodies, ...patches, ...applies, ...updates, ...reads];
