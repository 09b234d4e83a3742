import { expect } from 'chai';
import { encodeJson } from './encode-json.ts';

describe('the JSON of a response', () => {
  // The stored bytes differ from the output of JSON.stringify, so that a test sees which of the two was used.
  const one = Object.freeze({ a: 1 });
  const two = Object.freeze({ a: 2 });
  const stored = new Map<object, Buffer>([
    [one, Buffer.from('{ "a":1}')],
    [two, Buffer.from('{ "a":2}')],
  ]);
  const encode = (value: unknown): string => encodeJson(value, (object) => stored.get(object)).toString();

  it('contains the stored bytes of an object, of the objects in a list, and of the items of a page', () => {
    expect(encode(one)).to.equal('{ "a":1}');
    expect(encode([one, two])).to.equal('[{ "a":1},{ "a":2}]');
    expect(encode({ total: 2, items: [one, two], none: undefined, more: false })).to.equal(
      '{"total":2,"items":[{ "a":1},{ "a":2}],"more":false}',
    );
    expect(encode({ skipped: undefined, items: [one] })).to.equal('{"items":[{ "a":1}]}');
    expect(encode({ 'a "key"': one })).to.equal('{"a \\"key\\"":{ "a":1}}');
  });

  it('has the output of JSON.stringify, not the stored bytes, for a copy of a stored object', () => {
    expect(encode({ ...one })).to.equal('{"a":1}');
    expect(encode([one, { ...two }, undefined, 'x'])).to.equal('[{ "a":1},{"a":2},null,"x"]');
  });

  it('is the output of JSON.stringify for values that contain no stored object', () => {
    const values = [
      null,
      0,
      'x',
      [],
      [undefined],
      {},
      { items: [] },
      { a: undefined },
      new Date(0),
      [[1]],
      { toJSON: () => 7 },
    ];
    for (const value of values) expect(encode(value)).to.equal(JSON.stringify(value));
    expect(JSON.parse(encode({ toJSON: () => 7, one }))).to.equal(7);
  });

  it('is refused for values that JSON cannot represent', () => {
    const circle: Record<string, unknown> = {};
    circle['self'] = circle;
    for (const value of [undefined, () => 1, 1n, circle]) expect(() => encode(value)).to.throw(TypeError);
  });
});
