import { exportDatabase, ExportReader } from '@homeostat/apiserver';
import { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ConfigSources } from '../serve/config-values.ts';
import { readEncryptionConfig, readExportOrigin } from './copy-options.ts';
import type { ExportOrigin } from './copy-options.ts';
import { checkAbsent, writeWhole } from '../text/output-file.ts';
import { decryptedExportSource, exportSource, readCopy } from '../remote/read-copy.ts';
import { commandProgress } from './command-progress.ts';
import { runCopy } from './run-copy.ts';
import { textFlag } from '../serve/text-flag.ts';
import { counted } from '../text/counted.ts';

/**
 * Writes an export to `--output` or stdout, and returns the exit code. If the export is cut off or damaged, no file is
 * written.
 */
export function runExport(sources: ConfigSources): Promise<number> {
  return runCopy('export', async (signal) => {
    const origin = readExportOrigin(sources);
    const output = textFlag(sources.flags, 'output');
    if (output !== undefined && sources.flags['force'] !== true) await checkAbsent(output);
    const reader = new ExportReader();
    const decrypt = sources.flags['decrypt'] === true;
    const encryptionConfig = readEncryptionConfig(sources);
    const progress = commandProgress('exporting', 'objects');
    // If the export itself is printed on a terminal, no progress is shown.
    const isShown = output !== undefined || !process.stdout.isTTY;
    const onObjects = (count: number): void => void (isShown && progress.show(count));
    const pieces = proved(exportOf(origin, { decrypt, encryptionConfig }, signal), reader, onObjects);
    const write = async (): Promise<void> =>
      output === undefined ? pipeline(pieces, toStdout(), { signal }) : writeWhole(output, pieces, signal);
    await write().finally(() => progress.end());
    const { objects, revision, sha256 } = reader.end();
    process.stderr.write(`exported ${counted(objects, 'object')} as of revision ${revision}, sha256 ${sha256}\n`);
  });
}

interface Form {
  readonly decrypt: boolean;
  readonly encryptionConfig: string | undefined;
}

async function* exportOf(
  origin: ExportOrigin,
  { decrypt, encryptionConfig }: Form,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void, undefined> {
  if ('server' in origin) return yield* readCopy(origin, decrypt ? decryptedExportSource : exportSource, signal);
  const options = { decrypt, ...(encryptionConfig === undefined ? {} : { encryptionConfig }) };
  for await (const lines of exportDatabase(origin.database, options)) yield Buffer.from(lines);
}

/** Yields the pieces of an export, and checks them as an import does. Throws if the export is cut off or damaged. */
async function* proved(
  pieces: AsyncIterable<Uint8Array>,
  reader: ExportReader,
  onObjects: (count: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  let count = 0;
  for await (const piece of pieces) {
    count += reader.push(piece).length;
    onObjects(count);
    yield piece;
  }
  reader.end();
}

/** Returns a stream that writes to stdout, but never ends stdout. A write fails when the reader of stdout has ended. */
function toStdout(): Writable {
  process.stdout.on('error', () => undefined);
  return new Writable({
    write: (piece: Uint8Array, _encoding, done) => void process.stdout.write(piece, done),
  });
}
