import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import fc from 'fast-check';
import { applyMergePatch, strategicMergeDirective } from './merge-patch.ts';

interface MergeCase {
  readonly target: unknown;
  readonly patch: unknown;
  readonly rfc7396: unknown;
}

const { cases } = JSON.parse(
  readFileSync(new URL('../../../../test/vectors/merge-patch.json', import.meta.url), 'utf8'),
) as { cases: readonly MergeCase[] };

function hasNullMember(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return Object.values(value).some((member) => member === null || hasNullMember(member));
}

const json = fc.jsonValue({ maxDepth: 4 });

describe('applyMergePatch', () => {
  it('returns the results that RFC 7396 lists as examples', () => {
    expect(cases).to.have.length.above(0);
    for (const { target, patch, rfc7396 } of cases) {
      expect(applyMergePatch(target, patch), JSON.stringify({ target, patch })).to.deep.equal(rfc7396);
    }
  });

  it('does not change the target or the patch', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const before = JSON.stringify([target, patch]);
        applyMergePatch(target, patch);
        expect(JSON.stringify([target, patch])).to.equal(before);
      }),
    );
  });

  it('returns an equal result when the same patch is applied to the result again', () => {
    fc.assert(
      fc.property(json, json, (target, patch) => {
        const once = applyMergePatch(target, patch);
        expect(applyMergePatch(once, patch)).to.deep.equal(once);
      }),
    );
  });

  it('drops all members of the patch that are null when there is no target', () => {
    fc.assert(fc.property(json, (patch) => !hasNullMember(applyMergePatch(undefined, patch))));
  });

  it('changes nothing when the patch is the empty object', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), json), (target) => {
        expect(applyMergePatch(target, {})).to.deep.equal({ ...target });
      }),
    );
  });

  it('treats __proto__ as an ordinary key', () => {
    const patch: unknown = JSON.parse('{"__proto__": {"polluted": 1}, "a": {"__proto__": null, "b": 1}}');
    const result = applyMergePatch({}, patch) as object;
    expect(Object.getPrototypeOf(result)).to.equal(Object.prototype);
    expect(JSON.stringify(result)).to.equal('{"__proto__":{"polluted":1},"a":{"b":1}}');
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
  });
});

describe('strategicMergeDirective', () => {
  it('finds a directive of a strategic merge patch at any depth', () => {
    expect(strategicMergeDirective({ spec: { list: [{ name: 'a', $patch: 'delete' }] } })).to.equal('$patch');
    expect(strategicMergeDirective({ spec: { $retainKeys: [] } })).to.equal('$retainKeys');
    expect(strategicMergeDirective({ '$setElementOrder/tags': [] })).to.equal('$setElementOrder/tags');
    expect(strategicMergeDirective({ '$deleteFromPrimitiveList/tags': [] })).to.equal('$deleteFromPrimitiveList/tags');
  });

  it('treats other keys with a dollar sign, and values that look like directives, as data', () => {
    const patch = { schema: { $ref: '#/x' }, $setElementOrder: 1, note: '$patch', list: [null, '$retainKeys'] };
    expect(strategicMergeDirective(patch)).to.equal(undefined);
  });
});
