import { expect } from 'chai';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { LineOutput } from './line-output.ts';
import { makeFolder, removeFolders } from '../package/plugin-folder.fixture.ts';

describe('LineOutput', () => {
  let pipe: number;
  let output: LineOutput;

  beforeEach(async () => {
    const path = join(await makeFolder({}), 'pipe');
    execFileSync('mkfifo', [path]);
    pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    output = new LineOutput(pipe);
  });

  afterEach(async () => {
    closeSync(pipe);
    await removeFolders();
  });

  /** Returns what the pipe contains now, and removes it from the pipe. */
  function read(): string {
    const buffer = Buffer.alloc(1024 * 1024);
    return buffer.toString('utf8', 0, readSync(pipe, buffer));
  }

  function line(index: number): string {
    return `${String(index).padStart(10_000, '-')}\n`;
  }

  it('waits once for a reader that does not read, and then drops further lines without a wait', () => {
    const begun = performance.now();
    for (let index = 0; index < 100; index += 1) output.write(line(index));
    // A wait takes 50 ms. If each of the 100 lines waited, they would take 5 s.
    expect(performance.now() - begun).to.be.below(2_000);
  });

  it('continues on a new line after a truncated line, once the reader has emptied the pipe', () => {
    for (let index = 0; index < 100; index += 1) output.write(line(index));
    const before = read();
    expect(before.endsWith('\n'), 'the last line is truncated').to.equal(false);
    output.write('after\n');
    expect(read()).to.equal('\nafter\n');
    output.write('whole\n');
    expect(read()).to.equal('whole\n');
  });

  it('writes no extra line break before the next line when the line before was dropped as a whole', () => {
    // 64 KiB fill the pipe, so that no part of the next line is written.
    for (let index = 0; index < 64; index += 1) output.write(`${'x'.repeat(1023)}\n`);
    output.write('dropped\n');
    expect(read()).to.match(/^(?:x{1023}\n)+$/);
    output.write('after\n');
    expect(read()).to.equal('after\n');
  });

  it('when a slow reader has emptied the pipe and new lines fill it again, waits for the reader once more', () => {
    for (let index = 0; index < 100; index += 1) output.write(line(index));
    read();
    output.write('after\n');
    const begun = performance.now();
    for (let index = 0; index < 100; index += 1) output.write(line(index));
    expect(performance.now() - begun).to.be.within(45, 2_000);
  });
});
