import type { RE2JS } from 're2js';
import type { MeasuredWork } from '../../turns/in-turns.ts';
import { inBounds } from '../../base/in-bounds.ts';

/** An instruction of the state machine that re2js makes from a pattern. */
interface Instruction {
  readonly op: number;
  /** The next state. State 0 means failure. */
  readonly out: number;
  /**
   * If `op` is an alternative: the second state that may come next; the first one is `out`. If `op` is `emptyWidth`:
   * bits for the conditions that the position in the text must meet, such as {@link endText}.
   */
  readonly arg: number;
  matchRune(rune: number): boolean;
}

/**
 * The opcodes of re2js. Instructions with the opcode `character`, or a higher one, consume a character. All others
 * consume none.
 */
const alternative = 1;
const alternativeMatch = 2;
const emptyWidth = 4;
const failure = 5;
const success = 6;
const character = 8;

/**
 * The conditions on the position in the text, as bits. An instruction with the opcode {@link emptyWidth} requires some
 * of them; for `beginLine`, the position must be the start of a line.
 */
const beginLine = 1;
const endLine = 2;
const beginText = 4;
const endText = 8;
const wordBoundary = 16;
const noWordBoundary = 32;

/** The number of steps after which a match can pause. They take 0.2 ms. */
const stepsPerPart = 10_000;

/**
 * Matches a compiled pattern in parts: simulates the state machine of the pattern. A step handles one state for one
 * character, and takes 20 ns. The library re2js, by contrast, cannot pause in a match. re2js caches the sets of states
 * that a match reaches: if these are few, as for most patterns, re2js is ten times faster than this class. If each
 * character leads to a new set, re2js takes up to 190 ns for each state and character.
 */
export class SlicedPattern {
  readonly #instructions: readonly Instruction[];
  readonly #start: number;

  constructor(pattern: RE2JS) {
    const { inst, start } = pattern.re2Input.prog as { readonly inst: readonly Instruction[]; readonly start: number };
    this.#instructions = inst;
    this.#start = start;
  }

  /** Returns true when the pattern matches anywhere in the text. Yields the number of steps since the last yield. */
  *match(text: string): MeasuredWork<boolean> {
    const machine = new Machine(this.#instructions);
    machine.enter(this.#start, conditionsAt(text, 0));
    let at = 0;
    while (at < text.length && !machine.hasMatched) {
      const rune = inBounds(text.codePointAt(at));
      at += rune > 0xffff ? 2 : 1;
      const conditions = conditionsAt(text, at);
      machine.take(rune, conditions);
      machine.enter(this.#start, conditions);
      if (machine.steps >= stepsPerPart) yield machine.takeSteps();
    }
    yield machine.takeSteps();
    return machine.hasMatched;
  }
}

/** The state machine of a pattern while it reads a text: the states that it is in after the last character read. */
class Machine {
  hasMatched = false;
  steps = 0;
  readonly #instructions: readonly Instruction[];
  #states: Int32Array;
  #count = 0;
  #former: Int32Array;
  /** For each state: the value of `#taken` when the state was last entered; 0 if it was never entered. */
  readonly #entered: Int32Array;
  #taken = 1;
  /** A stack for {@link enter}: the states that it has found, but not entered yet. */
  readonly #open: Int32Array;

  constructor(instructions: readonly Instruction[]) {
    const size = instructions.length;
    this.#instructions = instructions;
    this.#states = new Int32Array(size);
    this.#former = new Int32Array(size);
    this.#entered = new Int32Array(size);
    this.#open = new Int32Array(size + 1);
  }

  takeSteps(): number {
    const { steps } = this;
    this.steps = 0;
    return steps;
  }

  /**
   * Reads the next character of the text: leaves all current states, and enters the next state of each state that
   * accepts this character. `conditions` are those at the position after the character, such as a word boundary.
   */
  take(rune: number, conditions: number): void {
    const former = this.#states;
    const count = this.#count;
    this.#states = this.#former;
    this.#former = former;
    this.#count = 0;
    this.#taken += 1;
    this.steps += count;
    for (let index = 0; index < count && !this.hasMatched; index += 1) {
      const instruction = inBounds(this.#instructions[inBounds(former[index])]);
      if (instruction.matchRune(rune)) this.enter(instruction.out, conditions);
    }
  }

  /** Enters a state, and all states that the machine can reach from it without consuming a character. */
  enter(first: number, conditions: number): void {
    const open = this.#open;
    open[0] = first;
    let count = 1;
    while (count > 0 && !this.hasMatched) {
      count -= 1;
      let state = inBounds(open[count]);
      while (state !== 0 && this.#entered[state] !== this.#taken) {
        this.#entered[state] = this.#taken;
        this.steps += 1;
        const { op, arg, out } = inBounds(this.#instructions[state]);
        if (op === alternative || op === alternativeMatch) {
          open[count] = arg;
          count += 1;
        } else if (op >= character || op === success) this.#stay(state, op);
        const goesOn = op < character && op !== failure && (op !== emptyWidth || (arg & ~conditions) === 0);
        state = goesOn ? out : 0;
      }
    }
  }

  #stay(state: number, op: number): void {
    if (op === success) {
      this.hasMatched = true;
      return;
    }
    this.#states[this.#count] = state;
    this.#count += 1;
  }
}

function conditionsAt(text: string, at: number): number {
  const before = at === 0 ? undefined : text.charCodeAt(at - 1);
  const after = at === text.length ? undefined : text.charCodeAt(at);
  let conditions = isWord(before) === isWord(after) ? noWordBoundary : wordBoundary;
  if (before === undefined) conditions |= beginText | beginLine;
  if (before === 10) conditions |= beginLine;
  if (after === undefined) conditions |= endText | endLine;
  if (after === 10) conditions |= endLine;
  return conditions;
}

/** Returns true for a character of `\w`, which RE2 limits to ASCII. */
function isWord(code: number | undefined): boolean {
  if (code === undefined) return false;
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122);
}
