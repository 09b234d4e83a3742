import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { ApiError } from '../errors/errors.ts';
import { applyJsonPatch } from './json-patch.ts';

interface PatchCase {
  readonly comment: string | null;
  readonly doc: unknown;
  readonly patch: readonly unknown[];
  readonly expected?: unknown;
  readonly error?: string;
}

const { cases } = JSON.parse(
  readFileSync(new URL('../../../../test/vectors/json-patch.json', import.meta.url), 'utf8'),
) as { cases: readonly PatchCase[] };

function errorOf(action: () => unknown): ApiError {
  try {
    action();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

function refusalOf(document: unknown, ...patch: unknown[]): ApiError {
  return errorOf(() => applyJsonPatch(document, patch));
}

describe('applyJsonPatch', () => {
  it('returns the results that the test suite of RFC 6902 expects', () => {
    const good = cases.filter((each) => 'expected' in each);
    expect(good).to.have.length.above(0);
    for (const { comment, doc, patch, expected } of good) {
      expect(applyJsonPatch(doc, patch), `${comment} ${JSON.stringify(patch)}`).to.deep.equal(expected);
    }
  });

  it('refuses the patches that the test suite of RFC 6902 expects to fail, and names the operation', () => {
    const bad = cases.filter((each) => each.error !== undefined);
    expect(bad).to.have.length.above(0);
    for (const { comment, doc, patch } of bad) {
      const { reason, causes } = errorOf(() => applyJsonPatch(doc, patch));
      expect(reason, `${comment} ${JSON.stringify(patch)}`).to.be.oneOf(['BadRequest', 'Invalid']);
      expect(causes[0]?.field).to.match(/^patch\[\d+\]$/);
    }
  });

  it('refuses a failed test and a missing path with 422, and names the index of the operation and the path', () => {
    const error = refusalOf({ a: 1 }, { op: 'test', path: '/a', value: 1 }, { op: 'remove', path: '/spec/nope' });
    expect(error.code).to.equal(422);
    expect(error.causes).to.deep.equal([
      {
        reason: 'FieldValueInvalid',
        field: 'patch[1]',
        message: 'Invalid value: "/spec/nope": the path does not exist',
      },
    ]);
    expect(refusalOf({ a: 1 }, { op: 'test', path: '/a', value: 2 }).code).to.equal(422);
  });

  it('refuses a patch with 400 if it is not a list of objects, and with 422 if an operation is malformed', () => {
    for (const operation of [null, 'x', 5]) expect(refusalOf({}, operation).code).to.equal(400);
    const malformed = [{}, { op: 'add' }, { op: 'add', path: 'a', value: 1 }, { op: 'add', path: '/a' }];
    const more = [
      { op: 'spam', path: '' },
      { op: 'copy', path: '/a' },
      { op: 'remove', path: '/~2' },
    ];
    for (const operation of [...malformed, ...more]) {
      expect(refusalOf({}, operation).code, JSON.stringify(operation)).to.equal(422);
    }
    expect(errorOf(() => applyJsonPatch({}, { op: 'add' })).code).to.equal(400);
  });

  it('does not change the target, whether the patch succeeds or fails', () => {
    const target = { list: [1, 2], nested: { a: 1 } };
    const before = structuredClone(target);
    const change = { op: 'add', path: '/nested/b', value: { c: 1 } };
    refusalOf(target, change, { op: 'remove', path: '/list/0' }, { op: 'test', path: '/list/0', value: 9 });
    expect(target).to.deep.equal(before);
    expect(applyJsonPatch(target, [change])).to.deep.equal({ ...before, nested: { a: 1, b: { c: 1 } } });
    expect(target).to.deep.equal(before);
  });

  it('removes the value of a move before it resolves the target path', () => {
    const list = [{ n: 0 }, { n: 1 }, { n: 2 }];
    expect(applyJsonPatch(list, [{ op: 'move', from: '/0', path: '/1/moved' }])).to.deep.equal([
      { n: 1 },
      { n: 2, moved: { n: 0 } },
    ]);
    expect(refusalOf(list, { op: 'move', from: '/0', path: '/3' }).code).to.equal(422);
    expect(applyJsonPatch(list, [{ op: 'move', from: '/0', path: '/2' }])).to.deep.equal([
      { n: 1 },
      { n: 2 },
      { n: 0 },
    ]);
  });

  it('refuses to move a value into itself, and to remove the whole document', () => {
    expect(refusalOf({ a: { b: 1 } }, { op: 'move', from: '/a', path: '/a/b' }).code).to.equal(422);
    expect(refusalOf({ a: 1 }, { op: 'move', from: '', path: '/a' }).code).to.equal(422);
    expect(refusalOf({ a: 1 }, { op: 'remove', path: '' }).code).to.equal(422);
  });

  it('refuses paths that are neither own members of objects nor exact indexes of arrays', () => {
    for (const path of ['/toString', '/list/length', '/list/01', '/list/-1', '/list/1e0', '/list/-', '/text/0']) {
      for (const op of ['replace', 'test', 'remove']) {
        expect(refusalOf({ list: [1, 2], text: 'x' }, { op, path, value: 1 }).code, `${op} ${path}`).to.equal(422);
      }
    }
    expect(refusalOf({ text: 'x' }, { op: 'add', path: '/text/0', value: 1 }).code).to.equal(422);
  });

  it('refuses the segments __proto__, constructor and prototype at any position in a pointer', () => {
    for (const segment of ['__proto__', 'constructor', 'prototype']) {
      const document: unknown = JSON.parse(`{"a": {"${segment}": {"b": 1}}}`);
      const operations = [
        { op: 'add', path: `/${segment}/x`, value: 1 },
        { op: 'add', path: `/a/${segment}`, value: 1 },
        { op: 'test', path: `/a/${segment}/b`, value: 1 },
        { op: 'copy', from: `/a/${segment}`, path: '/c' },
        { op: 'move', from: '/a', path: `/${segment}` },
      ];
      for (const operation of operations) {
        expect(refusalOf(document, operation).code, JSON.stringify(operation)).to.equal(422);
      }
    }
    expect(Object.keys(Object.prototype)).to.deep.equal([]);
  });

  it('allows 10,000 operations, and refuses more with the message of Kubernetes', () => {
    const test = { op: 'test', path: '/kind', value: 'Person' };
    const patch = Array.from({ length: 10_000 }, () => test);
    expect(applyJsonPatch({ kind: 'Person' }, patch)).to.deep.equal({ kind: 'Person' });
    const error = errorOf(() => applyJsonPatch({ kind: 'Person' }, [...patch, test]));
    expect(error.code).to.equal(413);
    expect(error.message).to.equal(
      'Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001',
    );
  });

  it('refuses with 413 a patch whose copies repeatedly double the document', () => {
    const patch = Array.from({ length: 100 }, (_, index) => ({ op: 'copy', from: '', path: `/a${index}` }));
    const { code, message } = errorOf(() => applyJsonPatch({ a: 'x'.repeat(100) }, patch));
    expect(code).to.equal(413);
    expect(message).to.equal(
      'Request entity too large: a JSON patch may copy at most 3145728 characters of JSON in all',
    );
  });

  it('refuses a result that nests deeper than the body of a request may nest', () => {
    const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });
    const target = { a: {}, deep: nested(40), list: [nested(40)] };
    const at = (levels: number): string => '/a'.repeat(levels);
    expect(applyJsonPatch(target, [{ op: 'add', path: at(2), value: nested(62) }])).to.have.nested.property(
      'a.a'.concat('.a'.repeat(61)),
    );
    const tooDeep = [
      { op: 'add', path: at(2), value: nested(63) },
      { op: 'replace', path: '/list/0', value: [nested(62)] },
      { op: 'copy', from: '/deep', path: `/deep${at(39)}` },
      { op: 'move', from: '/deep', path: `/list/0${at(39)}` },
    ];
    for (const operation of tooDeep) {
      const { code, message } = refusalOf(target, operation);
      expect(code, operation.op).to.equal(422);
      expect(message, operation.op).to.match(/: the document would nest deeper than 64 levels$/);
    }
  });

  it('refuses with 413 a patch that repeatedly shifts the elements of a large array, but accepts one that appends to it', () => {
    const document = { list: Array.from({ length: 100_000 }, () => 0) };
    const shift = { op: 'move', from: '/list/0', path: '/list/1' };
    expect(
      errorOf(() =>
        applyJsonPatch(
          document,
          Array.from({ length: 5000 }, () => shift),
        ),
      ).code,
    ).to.equal(413);
    const append = { op: 'add', path: '/list/-', value: 1 };
    const result = applyJsonPatch(
      document,
      Array.from({ length: 5000 }, () => append),
    ) as typeof document;
    expect(result.list).to.have.length(105_000);
  });

  it('moves a large value repeatedly without visiting its content', () => {
    const document = { a: Array.from({ length: 200_000 }, () => ({})) };
    const patch = Array.from({ length: 1001 }, (_, index) =>
      index % 2 === 0 ? { op: 'move', from: '/a', path: '/b' } : { op: 'move', from: '/b', path: '/a' },
    );
    expect(applyJsonPatch(document, patch)).to.have.property('b').with.lengthOf(200_000);
  });

  it('refuses with 413 a patch that visits more than a million nodes to compare, copy, shift, move or resolve pointers', () => {
    const large = Array.from({ length: 200_000 }, () => 0);
    const document = {
      a: large,
      b: { c: {} },
      deep: JSON.parse('{"a":'.repeat(50).concat('1', '}'.repeat(50))) as unknown,
    };
    const deeper = [
      { op: 'move', from: '/a', path: '/b/c/d' },
      { op: 'move', from: '/b/c/d', path: '/a' },
    ];
    const tooMuch = [
      Array.from({ length: 6 }, () => deeper).flat(),
      Array.from({ length: 6 }, () => ({ op: 'test', path: '/a', value: large })),
      Array.from({ length: 6 }, () => ({ op: 'replace', path: '/a', value: large })),
      Array.from({ length: 6 }, () => ({ op: 'add', path: '/c', value: large })),
      [{ op: 'copy', from: '/a', path: '/c' }],
      Array.from({ length: 600 }, () => ({ op: 'add', path: '/a/0', value: 0 })),
      Array.from({ length: 600 }, () => ({ op: 'remove', path: '/a/0' })),
      Array.from({ length: 10_000 }, () => ({ op: 'test', path: `/deep${'/a'.repeat(50)}`, value: 1 })),
    ];
    for (const patch of tooMuch) {
      const { code, message } = errorOf(() => applyJsonPatch(document, patch));
      expect([code, message]).to.deep.equal([
        413,
        'Request entity too large: a JSON patch may visit at most 1000000 nodes in all',
      ]);
    }
    expect(applyJsonPatch(document, [...deeper, ...deeper])).to.deep.equal(document);
  });

  it('refuses a pointer with more segments than a document may have levels', () => {
    const path = '/a'.repeat(1_000_000);
    expect(refusalOf({ a: 1 }, { op: 'test', path, value: 1 }).code).to.equal(422);
    expect(refusalOf({ a: 1 }, { op: 'add', path, value: 1 }).code).to.equal(422);
  });

  it('returns the new document for any replacement of a whole document', () => {
    // The server refuses a body with a field named __proto__, so the generated values have none.
    const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => !JSON.stringify(value).includes('"__proto__"'));
    fc.assert(
      fc.property(json, json, (from, to) => {
        expect(applyJsonPatch(from, [{ op: 'replace', path: '', value: to }])).to.deep.equal(to);
      }),
    );
  });
});
