import { expect } from 'chai';

import { packRows } from './statement-packing.ts';

describe('rows packed into statements', () => {
  const sizeOf = (size: number): number => size;

  it('keep their order; each statement stays within the limits of rows and of bytes', () => {
    const rows = [1, 2, 3, 4, 5, 6, 1, 1, 1, 1];
    expect(packRows(rows, { maxRows: 3, maxBytes: 9, sizeOf })).to.deep.equal([
      [1, 2, 3],
      [4, 5],
      [6, 1, 1],
      [1, 1],
    ]);
  });

  it('get a separate statement for each row that alone exceeds the limit of bytes', () => {
    expect(packRows([1, 99, 1], { maxRows: 9, maxBytes: 9, sizeOf })).to.deep.equal([[1], [99], [1]]);
  });

  it('need no statement when there are no rows', () => {
    expect(packRows([], { maxRows: 9, maxBytes: 9, sizeOf })).to.deep.equal([]);
  });
});
