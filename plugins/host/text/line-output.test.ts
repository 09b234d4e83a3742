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

  /** The present content of the pipe. */
  function read(): string {
    const buffer = Buffer.alloc(1024 * 1024);
    return buffer.toString('utf8', 0, readSync(pipe, buffer));
  }

  function line(index: number): string {
    return `${String(index).padStart(10_000, '-')}\n`;
  }

  it('waits once for a reader that does not read, not for each line', () => {
    const begun = performance.now();
    for (let index = 0; index < 100; index += 1) output.write(line(index));
    // Each wait is 50 ms: 100 of them are 5 s.
    expect(performance.now() - begun).to.be.below(2_000);
  });

  it('continues when the pipe is read, on a new line after a truncated one', () => {
    for (let index = 0; index < 100; index += 1) output.write(line(index));
    const before = read();
    expect(before.endsWith('\n'), 'the last line is cut').to.equal(false);
    output.write('after\n');
    expect(read()).to.equal('\nafter\n');
    output.write('whole\n');
    expect(read()).to.equal('whole\n');
  });

  it('writes whole lines after lines of which nothing was written', () => {
    // 64 KiB fill the pipe, so that the next line does not begin.
    for (let index = 0; index < 64; index += 1) output.write(`${'x'.repeat(1023)}\n`);
    output.write('dropped\n');
    expect(read()).to.match(/^(?:x{1023}\n)+$/);
    output.write('after\n');
    expect(read()).to.equal('after\n');
  });

  it('waits again for a reader that has read since', () => {
    for (let index = 0; index < 100; index += 1) output.write(line(index));
    read();
    output.write('after\n');
    const begun = performance.now();
    for (let index = 0; index < 100; index += 1) output.write(line(index));
    expect(performance.now() - begun).to.be.within(45, 2_000);
  });
});
