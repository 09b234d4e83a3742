import { expect } from 'chai';
import { Progress } from './progress.ts';

describe('Progress [spec experience-progress]', () => {
  let nowMs: number;
  let text: string;
  const progress = (isTTY: boolean): Progress => {
    [nowMs, text] = [1_000_000, ''];
    const write = (piece: string | Uint8Array): boolean => {
      text += String(piece);
      return true;
    };
    const stream = { isTTY, write };
    return new Progress({ stream, what: 'importing', unit: 'objects', nowMs: () => nowMs });
  };

  it('shows a bar after a second of work, draws it at most ten times a second, and clears it at the end', () => {
    const shown = progress(true);
    shown.show(1, 100);
    expect(text).to.equal('');
    nowMs += 1000;
    shown.show(50, 100);
    nowMs += 99;
    shown.show(51, 100);
    expect(text).to.equal('\r\u001B[Kimporting [############            ] 50 of 100 objects');
    nowMs += 1;
    shown.show(52);
    expect(text.endsWith('\r\u001B[Kimporting 52 objects')).to.equal(true);
    shown.end();
    expect(text.endsWith('objects\r\u001B[K')).to.equal(true);
  });

  it('writes nothing when the output is not a terminal, or when the work is short', () => {
    const hidden = progress(false);
    nowMs += 5000;
    hidden.show(1);
    hidden.end();
    expect(text).to.equal('');
    progress(true).end();
    expect(text).to.equal('');
  });
});
