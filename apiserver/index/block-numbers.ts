import { inBounds } from '../base/in-bounds.ts';
import type { Block } from './slabs.ts';

/**
 * Assigns numbers to the blocks in use. The packed changes of a kind keep numbers of blocks instead of references to
 * blocks: a number takes four bytes, and a garbage collection need not visit it.
 */
export class BlockNumbers {
  readonly #blocks: (Block | undefined)[] = [];
  readonly #uses: number[] = [];
  readonly #numbers = new Map<Block, number>();
  readonly #free: number[] = [];

  /**
   * Returns the number of a block. The block stays in memory until {@link release} has been called once for each call
   * of this function.
   */
  hold(block: Block): number {
    const known = this.#numbers.get(block);
    const number = known ?? this.#free.pop() ?? this.#blocks.length;
    if (known === undefined) {
      this.#blocks[number] = block;
      this.#uses[number] = 0;
      this.#numbers.set(block, number);
    }
    this.#uses[number] = inBounds(this.#uses[number]) + 1;
    return number;
  }

  /** Returns the block that has this number. The number must be in use. */
  block(number: number): Block {
    return inBounds(this.#blocks[number]);
  }

  release(number: number): void {
    const left = inBounds(this.#uses[number]) - 1;
    this.#uses[number] = left;
    if (left > 0) return;
    this.#numbers.delete(this.block(number));
    this.#blocks[number] = undefined;
    this.#free.push(number);
  }

  /** The number of blocks in use. */
  get size(): number {
    return this.#numbers.size;
  }
}
