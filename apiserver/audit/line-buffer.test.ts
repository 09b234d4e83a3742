import { expect } from 'chai';
import { LineBuffer } from './line-buffer.ts';

describe('LineBuffer', () => {
  it('has the bytes of all lines in UTF-8, in the order in which they were added', () => {
    const buffer = new LineBuffer();
    const lines = ['plain\n', 'Zoë, 名前, 🙂\n', '\n'];
    for (const line of lines) buffer.add(line);
    expect(buffer.bytes.toString('utf8')).to.equal(lines.join(''));
    expect([buffer.length, buffer.lines]).to.deep.equal([Buffer.byteLength(lines.join('')), 3]);
  });

  it('grows for lines that are longer than its memory, and keeps the earlier lines', () => {
    const buffer = new LineBuffer();
    const lines = ['first\n', `${'é'.repeat(700_000)}\n`, `${'x'.repeat(2_000_000)}\n`, 'last\n'];
    for (const line of lines) buffer.add(line);
    expect(buffer.bytes.equals(Buffer.from(lines.join('')))).to.equal(true);
  });

  it('is empty after it is cleared, also when it had grown before', () => {
    const buffer = new LineBuffer();
    for (const line of ['a\n', `${'x'.repeat(1_000_000)}\n`]) {
      buffer.add(line);
      buffer.clear();
      expect([buffer.length, buffer.lines, buffer.bytes.length]).to.deep.equal([0, 0, 0]);
    }
    buffer.add('b\n');
    expect(buffer.bytes.toString()).to.equal('b\n');
  });
});
