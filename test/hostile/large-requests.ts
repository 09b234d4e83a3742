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
import type { HostileRequest } from './hostile-request.ts';
import type { LargeRequest } from './request-makers.ts';

/**
 * Large requests to one object. Each request is a function, which a test calls only when it runs: the bodies of all
 * requests together take 230 MB and two seconds, and this file is imported even if the tests are skipped.
 */
const bodies: readonly LargeRequest[] = [
  { name: 'JSON: 1,400,000 numbers', request: (object) => create({ any: { a: repeat(1_400_000, () => 0) } })(object) },
  {
    name: 'JSON: 1,000,000 empty lists',
    request: (object) => create({ any: { a: repeat(1_000_000, () => []) } })(object),
  },
  { name: 'JSON: 200,000 fields of one object', request: (object) => create({ any: fields(200_000, 0) })(object) },
  {
    name: 'JSON: the maximum number of nodes',
    request: (object) => create({ any: { a: repeat(maxNodes / 2 - 50, () => []) } })(object),
  },
  { name: 'JSON: maps just below the limit of fields', request: (object) => create({ any: maps(9, 0) })(object) },
  { name: 'JSON: a string of 2.9 MB', request: (object) => create({ name: 'x'.repeat(2_900_000) })(object) },
  { name: 'JSON: 1,400,000 backslashes', request: (object) => create({ name: '\\'.repeat(1_400_000) })(object) },
  {
    name: 'JSON: broken at the end of the body',
    request: () => post(`${JSON.stringify(newThing('x', { any: repeat(maxNodes - 50, () => 0) }))}x`),
  },
  {
    name: 'JSON: a duplicate field at the end of the body',
    request: () =>
      post(JSON.stringify(newThing('x', { any: repeat(maxNodes - 50, () => 0) })).replace(/}$/, ',"spec":{}}')),
  },
  {
    name: 'JSON: 250 KB, broken at the end of the body',
    request: () => post(`${JSON.stringify(newThing('x', { any: repeat(120_000, () => 0) }))}x`),
  },
  {
    name: 'a pattern whose matching reaches a new set of states with each character',
    request: (object) => create({ code: randomLetters(900, object) })(object),
  },
  {
    name: 'a long text, and a pattern whose matching reaches many states',
    request: (object) => create({ code: randomLetters(60_000, object) })(object),
  },
  { name: 'items that get a default', request: (object) => create({ list: repeat(70_000, () => ({})) })(object) },
  {
    name: 'items with unknown fields',
    request: (object) => create({ list: repeat(45_000, () => ({ z: 1 })) })(object),
  },
  {
    name: 'items with unknown fields of different names',
    request: (object) => create({ list: repeat(45_000, (index) => ({ [`z${index}`]: 1 })) })(object),
  },
  { name: 'items of another type', request: (object) => create({ list: repeat(140_000, () => 1) })(object) },
  { name: '100,000 labels', request: (object) => create({}, { labels: fields(100_000, 'v') })(object) },
  {
    name: 'the maximum number of labels',
    request: (object) => create({}, { labels: fields(maxFields - 10, 'v') })(object),
  },
  {
    name: 'the maximum number of invalid labels',
    request: (object) => create({}, { labels: fields(maxFields - 10, 'v v') })(object),
  },
  {
    name: 'the maximum number of annotations',
    request: (object) => create({}, { annotations: fields(maxFields - 10, 'v') })(object),
  },
  {
    name: '100,000 finalizers',
    request: (object) => create({}, { finalizers: repeat(100_000, (index) => `a.b/c${index}`) })(object),
  },
  {
    name: 'the maximum number of finalizers',
    request: (object) => create({}, { finalizers: repeat(maxFields, (index) => `a.b/c${index}`) })(object),
  },
  {
    name: 'the maximum number of owners',
    request: (object) =>
      create(
        {},
        {
          ownerReferences: repeat(maxFields, (index) => ({
            apiVersion: 'v1',
            kind: 'Namespace',
            name: `n${index}`,
            uid: `u${index}`,
          })),
        },
      )(object),
  },
  {
    name: 'a list of type map, 60,000 items',
    request: (object) => create({ keyed: repeat(60_000, (index) => ({ k: `k${index}` })) })(object),
  },
  {
    name: 'a list of type map, the maximum number of items',
    request: (object) => create({ keyed: repeat(maxFields, (index) => ({ k: `k${index}`, v: 'v' })) })(object),
  },
  {
    name: 'a list of type map with equal items',
    request: (object) => create({ keyed: repeat(maxFields, () => ({ k: 'k' })) })(object),
  },
  {
    name: 'a list of type set, 100,000 items',
    request: (object) => create({ set: repeat(100_000, (index) => `k${index}`) })(object),
  },
  {
    name: 'a list of type set, the maximum number of items',
    request: (object) => create({ set: repeat(maxFields, (index) => `k${index}`) })(object),
  },
  { name: 'YAML: 900,000 empty lists', request: (object) => yaml(`    a: [${'[],'.repeat(900_000)}]\n`)(object) },
  {
    name: 'YAML: the maximum number of items',
    request: (object) => yaml(`    a:\n${'    - a\n'.repeat(maxNodes - 50)}`)(object),
  },
  {
    name: 'YAML: 150,000 fields',
    request: (object) => yaml(repeat(150_000, (index) => `    k${index}: v\n`).join(''))(object),
  },
  { name: 'YAML: folded lines', request: (object) => yaml(`    a: >\n${'      a\n'.repeat(350_000)}`)(object) },
  {
    name: 'YAML: aliases',
    request: (object) => yaml(`    a: &a [${'0,'.repeat(30_000)}0]\n    b: [${'*a,'.repeat(90)}]\n`)(object),
  },
  { name: 'YAML: 500,000 documents', request: () => post('--- 1\n'.repeat(500_000), 'application/yaml') },
  { name: 'YAML: 16 KB of documents', request: () => post('--- 1\n'.repeat(2700), 'application/yaml') },
  {
    name: 'protobuf: 150,000 labels',
    request: () =>
      post(namespaceMessage(150_000) as never, 'application/vnd.kubernetes.protobuf', '/api/v1/namespaces'),
  },
];

const large = (object: string): HostileRequest => create({ any: { a: repeat(140_000, () => 0) } })(object);

const patches: readonly LargeRequest[] = [
  {
    name: 'JSON patch: 1,000 moves of a large value',
    before: (object) => [large(object)],
    request: (object) =>
      patch(
        jsonPatch,
        repeat(1000, (index) => ({
          op: 'move',
          from: `/spec/any/${'ab'[index % 2]}`,
          path: `/spec/any/${'ba'[index % 2]}`,
        })),
      )(object),
  },
  {
    name: 'JSON patch: 1,000 moves to deeper levels',
    before: (object) => [large(object)],
    request: (object) =>
      patch(jsonPatch, [
        { op: 'add', path: '/spec/any/x', value: {} },
        ...repeat(1000, (index) => ({
          op: 'move',
          from: `/spec/any/${['a', 'x/b'][index % 2]}`,
          path: `/spec/any/${['x/b', 'a'][index % 2]}`,
        })),
      ])(object),
  },
  {
    name: 'JSON patch: 1,000 copies of a large value',
    before: (object) => [large(object)],
    request: (object) =>
      patch(
        jsonPatch,
        repeat(1000, (index) => ({ op: 'copy', from: '/spec/any/a', path: `/spec/any/b${index}` })),
      )(object),
  },
  {
    name: 'JSON patch: a list that is copied into itself 30 times, and doubles in size each time',
    before: (object) => [large(object)],
    request: (object) =>
      patch(jsonPatch, [
        { op: 'add', path: '/spec/any/x', value: [{ a: {} }] },
        ...repeat(30, () => ({ op: 'copy', from: '/spec/any/x', path: '/spec/any/x/-' })),
      ])(object),
  },
  {
    name: 'JSON patch: tests of a large value',
    before: (object) => [large(object)],
    request: (object) =>
      patch(jsonPatch, [{ op: 'test', path: '/spec/any/a', value: repeat(140_000, () => 0) }])(object),
  },
  {
    name: 'JSON patch: 10,000 additions at the start of a list',
    before: (object) => [large(object)],
    request: (object) =>
      patch(
        jsonPatch,
        repeat(10_000, () => ({ op: 'add', path: '/spec/any/a/0', value: 0 })),
      )(object),
  },
  {
    name: 'JSON patch: removal of a large value, and its addition',
    before: (object) => [large(object)],
    request: (object) =>
      patch(jsonPatch, [
        { op: 'remove', path: '/spec/any/a' },
        { op: 'add', path: '/spec/any/a', value: repeat(140_000, () => 1) },
      ])(object),
  },
  {
    name: 'JSON patch: a pointer of 2.8 MB',
    before: (object) => [large(object)],
    request: (object) => patch(jsonPatch, [{ op: 'test', path: '/a'.repeat(1_400_000), value: 0 }])(object),
  },
  {
    name: 'JSON patch: 10,000 long pointers',
    before: (object) => [large(object)],
    request: (object) =>
      patch(
        jsonPatch,
        repeat(10_000, () => ({ op: 'test', path: `/spec${'/a'.repeat(100)}`, value: 0 })),
      )(object),
  },
  {
    name: 'merge patch: a small patch of a large object',
    before: (object) => [create({ any: maps(5, 'v') })(object)],
    request: (object) => patch(mergePatch, { spec: { name: 'n' } })(object),
  },
  {
    name: 'merge patch: large objects',
    before: (object) => [create({ name: 'a' })(object)],
    request: (object) => patch(mergePatch, { spec: { any: maps(5, 'v') } })(object),
  },
];

const applies: readonly LargeRequest[] = [
  { name: 'apply: 100,000 fields', request: (object) => apply({ any: fields(100_000, 'v') }, 'a')(object) },
  { name: 'apply: the maximum number of fields', request: (object) => apply({ any: maps(4, 'v') }, 'a')(object) },
  {
    name: 'apply: the maximum number of conflicts',
    before: (object) => [apply({ any: maps(4, 'v') }, 'a')(object)],
    request: (object) => apply({ any: maps(4, 'w') }, 'b')(object),
  },
  {
    name: 'apply: the maximum number of fields, with force',
    before: (object) => [apply({ any: maps(4, 'v') }, 'a')(object)],
    request: (object) => apply({ any: maps(4, 'w') }, 'b&force=true')(object),
  },
  {
    name: 'apply: a small change of a large object',
    before: (object) => [apply({ any: maps(4, 'v') }, 'a')(object)],
    request: (object) => apply({ name: 'n' }, 'b')(object),
  },
  {
    name: 'apply: conflicts in a list of type map',
    before: (object) => [apply({ keyed: repeat(maxFields, (index) => ({ k: `k${index}`, v: 'a' })) }, 'a')(object)],
    request: (object) => apply({ keyed: repeat(maxFields, (index) => ({ k: `k${index}`, v: 'b' })) }, 'b')(object),
  },
  {
    name: 'apply: many lists of type map, each just below the maximum number of items',
    request: (object) => apply(keyedLists(mostItems, 'v'), 'a')(object),
  },
  {
    name: 'apply: conflicts in many lists of type map',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: (object) => apply(keyedLists(storedItems, 'w'), 'b')(object),
  },
  {
    name: 'apply: many lists of type map, with force',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: (object) => apply(keyedLists(mostItems, 'w'), 'b&force=true')(object),
  },
  {
    name: 'apply: removal of many lists of type map',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: (object) => apply({ name: 'n' }, 'a')(object),
  },
  {
    name: 'apply: an object with 8,000 field managers',
    before: (object) => [create({ name: 'n' })(object), put({ name: 'm' }, managers('Apply'))(object)],
    request: (object) => apply({ name: 'm' }, 'z')(object),
  },
  {
    name: 'apply: broken JSON, which is not valid YAML either',
    request: (object) =>
      patch(
        applyPatch,
        `${JSON.stringify(newThing('x', { any: repeat(maxNodes - 50, () => 0) }))} x`,
        '?fieldManager=a',
      )(object),
  },
];

const updates: readonly LargeRequest[] = [
  { name: 'creation: many lists of type map', request: (object) => create(keyedLists(mostItems, 'v'))(object) },
  {
    name: 'update: many lists of type map',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: (object) => put(keyedLists(mostItems, 'w'))(object),
  },
  {
    name: 'update: removal of many lists of type map',
    before: (object) => [apply(keyedLists(storedItems, 'v'), 'a')(object)],
    request: (object) => put({})(object),
  },
  {
    name: 'update: 8,000 field managers with a field each',
    before: (object) => [create({ name: 'n' })(object)],
    request: (object) => put({ name: 'm' }, managers('Update'))(object),
  },
  {
    name: 'update: a field manager that owns 60,000 items',
    before: (object) => [create({ name: 'n' })(object)],
    request: (object) => put({ name: 'm' }, itemsOwner())(object),
  },
];

const reads: readonly LargeRequest[] = [
  {
    name: 'a large object as YAML',
    before: (object) => [create({ any: maps(5, 'v') })(object)],
    request: (object) => get('/<name>', 'application/yaml')(object),
  },
  {
    name: 'a large object as a Table',
    before: (object) => [create({ any: maps(5, 'v') })(object)],
    request: (object) => get('/<name>', table)(object),
  },
  {
    name: 'a large ConfigMap as a Table',
    before: (object) => [post(JSON.stringify(largeConfigMap(object)), 'application/json', configMaps)],
    request: (object) => ({ method: 'GET', path: `${configMaps}/${object}`, headers: { accept: table } }),
  },
];

const configMaps = '/api/v1/namespaces/default/configmaps';

function largeConfigMap(name: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: fields(maxFields - 10, 'x'.repeat(60)) };
}

/** Lists of a kind with many objects, and an export. */
export const listRequests: readonly LargeRequest[] = [
  { name: 'list', request: (object) => get('')(object) },
  { name: 'list: indented', request: (object) => get('?pretty=true')(object) },
  { name: 'list: without managedFields', request: (object) => get('?managedFields=false')(object) },
  { name: 'list: YAML', request: (object) => get('', 'application/yaml')(object) },
  { name: 'list: Table', request: (object) => get('', table)(object) },
  { name: 'list: metadata alone', request: (object) => get('', metadataAlone)(object) },
  {
    name: 'list: a field selector of 100 requirements',
    request: (object) =>
      get(`?fieldSelector=${repeat(100, (index) => `spec.weight!=${index + 1000}`).join(',')}`)(object),
  },
  {
    name: 'list: a label selector of 100 requirements',
    request: (object) => get(`?labelSelector=${repeat(100, (index) => `app!=x${index}`).join(',')}`)(object),
  },
  { name: 'list: sorted', request: (object) => get('?sort=spec.weight,desc&sort=spec.name,asc&size=100')(object) },
  {
    name: 'list: all, by two sort keys',
    request: (object) => get('?sort=spec.weight,desc&sort=spec.name,asc')(object),
  },
  { name: 'export', request: () => ({ method: 'GET', path: '/export' }) },
];

/** Requests for which the server must first build an index of the kind. */
export const firstRequests: readonly LargeRequest[] = [
  { name: 'list: the first label selector', request: (object) => get('?labelSelector=app%3Dapp-1&size=20')(object) },
  { name: 'list: the first sort by a list field', request: (object) => get('?sort=spec.tags&size=20')(object) },
  { name: 'list: the first sort by name', request: (object) => get('?sort=name&size=20')(object) },
];

export const largeRequests: readonly LargeRequest[] = [...bodies, ...patches, ...applies, ...updates, ...reads];
