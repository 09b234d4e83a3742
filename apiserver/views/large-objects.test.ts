import type { ModelDescriptor, PrinterColumn } from '@homeostat/controller-runtime/api';
import { expect } from 'chai';
import { array, assert, dictionary, jsonValue, property, string } from 'fast-check';
import { configMapKind } from '../builtin/config-map-kind.ts';
import { eventKind } from '../builtin/event-kinds.ts';
import { clusterRoleBindingKind, clusterRoleKind } from '../builtin/rbac-kinds.ts';
import { secretKind } from '../builtin/secret-kind.ts';
import { columnsOf } from './columns-of.ts';
import { jsonValueAt } from './json-value-at.ts';
import { MetadataView } from './metadata-view.ts';
import { declaredColumns } from './table-columns.ts';
import { TableView } from './table-view.ts';

const paths = [
  '.spec.weight',
  '.spec.list[1].name',
  '.spec.list[?(@.name=="b")].size',
  '.metadata.labels.a\\.b/c',
  '.spec',
  '.spec.none',
  '.__proto__.x',
  '.spec.weight.deeper',
  '.metadata.creationTimestamp',
];

const columns = paths.map((jsonPath): PrinterColumn => ({ name: jsonPath, type: 'string', jsonPath }));

/**
 * Returns an object with this text in an annotation and in its status, which no column shows. A long text makes the
 * object larger than 64 KiB.
 */
function objectOf(filling: string): Buffer {
  const list = [
    { name: 'a', size: 1 },
    { name: 'b', size: 2 },
  ];
  const text = JSON.stringify({
    apiVersion: 'a/v1',
    kind: 'Thing',
    metadata: {
      name: 'one',
      annotations: { 'a "quoted\\" name': '\\"}{][,é', filling },
      labels: { 'a.b/c': 'yes' },
      resourceVersion: '7',
      creationTimestamp: '2026-01-01T00:00:00Z',
    },
    status: { filling, deep: [[{}, [], { a: null, b: true, c: -1.5e3 }]] },
    spec: { weight: 5, list },
  });
  return Buffer.from(text.replace('"status"', '"__proto__":{"x":"own"},"status"'));
}

const metadataOfOne = { name: 'one', creationTimestamp: '2026-01-01T00:00:00Z' };
const involvedObject = { kind: 'Person', name: 'ann', fieldPath: 'spec.name' };

/** Built-in kinds with their own columns, each with the fields of an object. */
const builtins: readonly (readonly [title: string, model: ModelDescriptor, fields: object])[] = [
  ['a Secret', secretKind, { type: 'Opaque', data: { a: 'eA==', 'b"\\': '' } }],
  ['a Secret without data', secretKind, { data: null }],
  ['a ConfigMap', configMapKind, { data: { a: '{"b":"c"}' }, binaryData: { c: 'eA==', d: '' } }],
  ['an Event', eventKind, { involvedObject, reason: 'Started', message: ' begun ', count: 3, type: 'Normal' }],
  ['an Event of a series', eventKind, { series: { count: 4, lastObservedTime: '2026-01-01T12:00:00Z' }, source: null }],
  ['a ClusterRole', clusterRoleKind, { rules: [{ verbs: ['get'] }] }],
  [
    'a ClusterRoleBinding',
    clusterRoleBindingKind,
    { roleRef: { kind: 'ClusterRole', name: 'r' }, subjects: [{ kind: 'User', name: 'ann' }] },
  ],
];

const nowMs = Date.parse('2026-01-02T00:00:00Z');

describe('views of large objects', () => {
  for (const includeObject of ['Metadata', 'None'] as const) {
    it(`are the same as those of small objects: Table with includeObject=${includeObject}`, () => {
      const view = new TableView({ columns: declaredColumns(columns), version: 'v1', includeObject, now: () => 0 });
      const small = view.ofObject(objectOf('')).toString();
      const large = view.ofObject(objectOf('x'.repeat(100_000))).toString();
      expect(large.replace('x'.repeat(100_000), '')).to.equal(small);
      expect(small).to.include('"own"').and.include('"yes"');
    });
  }

  for (const [title, model, fields] of builtins) {
    it(`show the same cells as those of small objects, and parse only the fields of these cells: ${title}`, () => {
      const object = { metadata: metadataOfOne, ...fields };
      const own = columnsOf(model);
      const cells = own.cellsOf(object, nowMs);
      // JSON.parse would refuse the word without quotes, so the cells are read without the rest of the object.
      const json = Buffer.from(JSON.stringify({ rest: 'unparsed', ...object }).replace('"unparsed"', 'unparsed'));
      expect(own.cellsOfJson(json, nowMs)).to.deep.equal(cells);
      expect(cells).to.include('one');
    });
  }

  it('contain exactly the metadata of the object when only the metadata is requested', () => {
    const object = objectOf('x'.repeat(100_000));
    const { metadata } = JSON.parse(object.toString()) as { readonly metadata: unknown };
    const shown = JSON.parse(new MetadataView('v1').ofObject(object).toString()) as unknown;
    expect(shown).to.deep.equal({ kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata });
  });
});

describe('jsonValueAt', () => {
  it('returns, for any object, the JSON text of the value at a path, or undefined when there is no such value', () => {
    const cases = property(dictionary(string(), jsonValue()), array(string()), (object, path) => {
      const json = Buffer.from(JSON.stringify(object));
      for (const first of [...Object.keys(object), ...path]) {
        const text = jsonValueAt(json, [first])?.toString();
        const expected = Object.hasOwn(object, first) ? JSON.stringify(object[first]) : undefined;
        expect(text).to.equal(expected);
      }
    });
    assert(cases);
    expect(jsonValueAt(Buffer.from('{"a":{"b":[1]}}'), ['a', 'b'])?.toString()).to.equal('[1]');
    expect(jsonValueAt(Buffer.from('{"a":{"b":[1]}}'), ['a', 'b', 'c'])).to.equal(undefined);
    expect(jsonValueAt(Buffer.from('{}'), ['a'])).to.equal(undefined);
  });
});
