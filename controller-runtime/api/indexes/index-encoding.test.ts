import { expect } from 'chai';
import fc from 'fast-check';
import { compareCodePoints } from '../base/code-point-order.ts';
import { encodingOf } from './index-encoding.ts';
import type { IndexedType } from './index-encoding.ts';

function isSorted(type: IndexedType, values: readonly unknown[]): boolean {
  const encoded = values.map((value) => encodingOf(type).ofValue(value));
  return encoded.every((value, index) => index === 0 || compareCodePoints(encoded[index - 1] ?? '', value) < 0);
}

describe('encodings of indexes by path', () => {
  it('sorts numbers by their value: 10 after 9, and also negative numbers and fractions', () => {
    expect(isSorted('integer', [-1000, -10, -9, -1, 0, 1, 9, 10, 100, 2 ** 53])).to.equal(true);
    expect(isSorted('number', [-1e308, -10.5, -10.25, -0.1, 0, 5e-324, 0.1, 9, 9.99, 10, 1e308])).to.equal(true);
  });

  it('keeps the order and the equality of any two numbers', () => {
    const { ofValue } = encodingOf('number');
    const finite = fc.double({ noNaN: true, noDefaultInfinity: true });
    fc.assert(
      fc.property(
        finite,
        finite,
        (a, b) => Math.sign(compareCodePoints(ofValue(a), ofValue(b))) === (a < b ? -1 : a > b ? 1 : 0),
      ),
    );
  });

  it('encodes a literal of a selector like the value of a field', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const { ofValue, ofLiteral } = encodingOf('number');
        return ofLiteral(String(value)) === ofValue(value) && ofLiteral(value.toExponential()) === ofValue(value);
      }),
    );
    expect(encodingOf('integer').ofLiteral('+010')).to.equal(encodingOf('integer').ofValue(10));
    expect(encodingOf('number').ofLiteral('-0')).to.equal(encodingOf('number').ofValue(0));
  });

  it('sorts false before true, and leaves strings as they are', () => {
    expect(isSorted('boolean', [false, true])).to.equal(true);
    expect(encodingOf('boolean').ofLiteral('true')).to.equal(encodingOf('boolean').ofValue(true));
    expect(encodingOf('string').ofValue('10')).to.equal('10');
    expect(encodingOf('string').ofLiteral('a b')).to.equal('a b');
  });

  it('converts date-times to UTC, so that they sort by time', () => {
    const instants = [
      '0001-01-01T00:00:00Z',
      '2024-01-01T01:00:00+02:00',
      '2023-12-31T23:30:00Z',
      '2024-01-01T00:00:00Z',
      '2024-01-01T00:00:00.000000001Z',
      '2024-01-01T00:00:00.5Z',
      '2024-01-01T00:00:01Z',
      '9999-12-31T23:59:59Z',
    ];
    expect(isSorted('date-time', instants)).to.equal(true);
    const { ofValue, ofLiteral } = encodingOf('date-time');
    for (const same of ['2024-01-01t02:00:00+02:00', '2023-12-31T23:59:60Z', '2024-01-01 00:00:00.000z']) {
      expect(ofLiteral(same), same).to.equal(ofValue('2024-01-01T00:00:00Z'));
    }
  });

  const refused: Readonly<Record<IndexedType, readonly string[]>> = {
    string: [],
    boolean: ['', 'True', '1'],
    integer: ['', 'ten', '1.5', '0x10', ' 1', '1e999', 'Infinity', 'NaN'],
    number: ['', 'ten', '1,5', '.', 'e1', '0x10', '1e999'],
    'date-time': [
      '',
      '2024-01-01',
      '2024-13-01T00:00:00Z',
      '2024-01-01T00:00:00',
      '2024-01-01T24:00:00Z',
      '2023-02-29T00:00:00Z',
      '9999-12-31T23:59:59-01:00',
    ],
  };
  for (const [type, literals] of Object.entries(refused) as [IndexedType, readonly string[]][]) {
    for (const literal of literals) {
      it(`refuses ${JSON.stringify(literal)} for ${type} with a RangeError`, () => {
        expect(() => encodingOf(type).ofLiteral(literal)).to.throw(RangeError);
      });
    }
  }

  it('refuses values that do not have the type of the encoding', () => {
    expect(() => encodingOf('integer').ofValue('1')).to.throw(TypeError);
    expect(() => encodingOf('integer').ofValue(1.5)).to.throw(RangeError);
    expect(() => encodingOf('string').ofValue(1)).to.throw(TypeError);
    expect(() => encodingOf('boolean').ofValue('true')).to.throw(TypeError);
  });
});

describe('compareCodePoints', () => {
  it('orders strings by their code points [slow]', () => {
    const points = (text: string): number[] => Array.from(text, (character) => character.codePointAt(0) ?? 0);
    const compare = (a: readonly number[], b: readonly number[]): number => {
      const index = a.findIndex((point, at) => point !== b[at]);
      return index < 0 ? a.length - b.length : (a[index] ?? 0) - (b[index] ?? -1);
    };
    const text = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(
        text,
        text,
        (a, b) => Math.sign(compareCodePoints(a, b)) === Math.sign(compare(points(a), points(b))),
      ),
    );
    expect(compareCodePoints('\uff5e', '\u{1f600}')).to.be.below(0);
  });
});
