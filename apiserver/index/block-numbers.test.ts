import { expect } from 'chai';
import { BlockNumbers } from './block-numbers.ts';
import { Block } from './slabs.ts';

describe('BlockNumbers', () => {
  it('gives the number of a block to another block only after all holders of the number have released it', () => {
    const numbers = new BlockNumbers();
    const [first, second, third] = [new Block(4), new Block(4), new Block(4)];
    const number = numbers.hold(first);
    expect(numbers.hold(second)).to.not.equal(number);
    expect(numbers.hold(first)).to.equal(number);
    numbers.release(number);
    expect(numbers.block(number)).to.equal(first);
    expect(numbers.size).to.equal(2);
    numbers.release(number);
    expect(numbers.size).to.equal(1);
    expect(numbers.hold(third)).to.equal(number);
    expect(numbers.block(number)).to.equal(third);
  });
});
