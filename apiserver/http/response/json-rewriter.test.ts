import { expect } from 'chai';
import fc from 'fast-check';
import { JsonRewriter } from './json-rewriter.ts';
import type { JsonForm } from './json-rewriter.ts';

/**
 * Rewrites a text in pieces. The sizes of the pieces are those in `sizes`, which are repeated until the end of the
 * text.
 */
function rewrite(text: string, form: JsonForm, sizes: readonly number[] = [text.length]): string {
  const rewriter = new JsonRewriter(form);
  const bytes = Buffer.from(text);
  const made: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    made.push(...rewriter.push(bytes.subarray(at, at + size)));
    at += size;
  }
  made.push(...rewriter.end());
  for (const each of made) expect(each.length).to.be.above(0);
  return Buffer.concat(made).toString();
}

const sizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
const indented = { isIndented: true } as const;

/** Names of fields: those in the paths of the members that JsonRewriter removes in these tests, and similar names. */
const name = fc.constantFrom('metadata', 'managedFields', 'managedField', 'meta', 'items', 'a"b\\', 'ü', '*', '');
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.jsonValue({ maxDepth: 1 }),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(name, tie('value'), { maxKeys: 4 }),
  ),
}));

/** Returns the value without the member at the path. */
function without(of: unknown, [next, ...rest]: readonly string[]): unknown {
  if (next === '*') return Array.isArray(of) ? of.map((item: unknown) => without(item, rest)) : of;
  if (typeof of !== 'object' || of === null || Array.isArray(of) || next === undefined) return of;
  const members = Object.entries(of).flatMap(([key, member]: [string, unknown]): [string, unknown][] => {
    if (key !== next) return [[key, member]];
    return rest.length === 0 ? [] : [[key, without(member, rest)]];
  });
  return Object.fromEntries(members);
}

describe('JsonRewriter', () => {
  it('indents as JSON.stringify does, wherever the text is cut into pieces', () => {
    fc.assert(
      fc.property(value, sizes, (any, cut) => {
        expect(rewrite(JSON.stringify(any), indented, cut)).to.equal(`${JSON.stringify(any, undefined, 2)}\n`);
      }),
    );
  });

  it('leaves out only the member at a path', () => {
    const paths = fc.constantFrom(['metadata', 'managedFields'], ['items', '*', 'metadata', 'managedFields']);
    fc.assert(
      fc.property(value, paths, fc.boolean(), sizes, (any, leftOut, isIndented, cut) => {
        const expected = JSON.stringify(without(any, leftOut), undefined, isIndented ? 2 : undefined);
        const text = rewrite(JSON.stringify(any), { isIndented, leftOut }, cut);
        expect(text).to.equal(isIndented ? `${expected}\n` : expected);
      }),
    );
  });

  it('accepts indented JSON, and copies numbers unchanged', () => {
    const text = '{\n "a" : [ 1.50, 12345678901234567890 ,-0e1 ] ,\r\n\t"b": { }, "c": null }';
    expect(rewrite(text, { isIndented: false })).to.equal('{"a":[1.50,12345678901234567890,-0e1],"b":{},"c":null}');
  });

  it('yields long texts in pieces [slow]', () => {
    const rewriter = new JsonRewriter(indented);
    const pieces = [...rewriter.push(Buffer.from(JSON.stringify(Array.from({ length: 200_000 }, () => [0]))))];
    for (const piece of pieces) expect(piece.length).to.be.below(300_000);
    expect(Buffer.concat(pieces).length).to.be.above(3_000_000);
  });
});
