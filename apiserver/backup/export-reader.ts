import { compareCodePoints, isJsonObject } from '@homeostat/controller-runtime/api';
import { kindOfKey } from '../store/object-key.ts';
import { exportFormat, ExportFileError, maxLineBytes } from './export-format.ts';
import type { ExportManifest, ExportSummary } from './export-format.ts';
import { LineCheck } from './line-check.ts';
import { ObjectsDigest } from './objects-digest.ts';

export interface ExportedObject {
  readonly key: string;
  /** The revision of the object in the exported database. */
  readonly revision: number;
  readonly data: Uint8Array;
}

type Fields = Readonly<Record<string, unknown>>;

const lineFeed = 0x0a;

/** Reads an export piece by piece, and checks its whole content. Throws only ExportFileErrors. */
export class ExportReader {
  readonly #check = new LineCheck();
  readonly #digest = new ObjectsDigest();
  /** The pieces of a line whose end has not arrived yet. */
  #pieces: Uint8Array[] = [];
  #pieceBytes = 0;
  #line = 0;
  #lastKey = '';
  #manifest: ExportManifest | undefined;
  #summary: ExportSummary | undefined;

  /** Returns the objects whose lines end in this piece, in the order of their keys. */
  push(bytes: Uint8Array): readonly ExportedObject[] {
    const objects: ExportedObject[] = [];
    let from = 0;
    for (let to = bytes.indexOf(lineFeed); to >= 0; to = bytes.indexOf(lineFeed, from)) {
      this.#keep(bytes.subarray(from, to));
      const object = this.#read(this.#takeLine());
      if (object !== undefined) objects.push(object);
      from = to + 1;
    }
    this.#keep(bytes.subarray(from));
    return objects;
  }

  /**
   * Returns the checked manifest and summary. Call it after the last piece. @throws ExportFileError for an incomplete
   * export
   */
  end(): ExportManifest & ExportSummary {
    if (this.#manifest === undefined && this.#line + this.#pieceBytes === 0) {
      throw new ExportFileError('the file is empty: an export has at least a first and a last line');
    }
    if (this.#pieceBytes > 0) this.#refuse('the file is cut off: this line has no end', this.#line + 1);
    if (this.#manifest === undefined || this.#summary === undefined) {
      return this.#refuse('the file is cut off: it ends here, but this is not the last line of an export');
    }
    return { ...this.#manifest, ...this.#summary };
  }

  #keep(piece: Uint8Array): void {
    if (piece.byteLength === 0) return;
    this.#pieces.push(piece);
    this.#pieceBytes += piece.byteLength;
    if (this.#pieceBytes > maxLineBytes) {
      this.#refuse(`this line is longer than ${maxLineBytes} bytes`, this.#line + 1);
    }
  }

  #takeLine(): Buffer {
    const [first = new Uint8Array(), ...more] = this.#pieces;
    const line =
      more.length === 0 ? Buffer.from(first.buffer, first.byteOffset, first.byteLength) : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#pieceBytes = 0;
    this.#line += 1;
    return line;
  }

  #read(line: Buffer): ExportedObject | undefined {
    if (this.#summary !== undefined) this.#refuse('this line follows the last line of the export');
    if (this.#line === 1) return this.#readManifest(line);
    if (!this.#check.accepts(line)) this.#refuse('this line is damaged, or the previous line is missing');
    const fields = parse(line) ?? this.#refuse('this line is not a JSON object');
    return 'objects' in fields ? this.#readSummary(fields) : this.#readObject(fields);
  }

  /**
   * Reads the manifest. It checks the number of the format first, since another format may compute the field `check` of
   * a line in another way.
   */
  #readManifest(line: Buffer): undefined {
    const fields = parse(line);
    if (fields?.['homeostat'] !== 'export') return this.#refuse('this is not the first line of an export of homeostat');
    const { format, revision, epoch, createdAt } = fields;
    if (format !== exportFormat) {
      return this.#refuse(`the format is ${JSON.stringify(format)}; this program knows ${exportFormat}`);
    }
    if (!this.#check.accepts(line)) return this.#refuse('this line is damaged');
    if (!isRevision(revision)) return this.#refuse('revision must be a whole number');
    if (typeof epoch !== 'string' || typeof createdAt !== 'string')
      return this.#refuse('epoch and createdAt must be texts');
    this.#manifest = { revision, epoch, createdAt };
    return undefined;
  }

  #readObject({ key, revision, data, base64 }: Fields): ExportedObject {
    if (typeof key !== 'string' || kindOfKey(key) === undefined)
      return this.#refuse('key must be the key of an object');
    if (compareCodePoints(key, this.#lastKey) <= 0)
      return this.#refuse('key must come after the key of the line before');
    if (!isRevision(revision)) return this.#refuse('revision must be a whole number');
    const isText = typeof data === 'string';
    if (isText === (typeof base64 === 'string')) return this.#refuse('either data or base64 must be a text');
    const object = { key, revision, data: isText ? Buffer.from(data) : Buffer.from(String(base64), 'base64') };
    this.#lastKey = key;
    this.#digest.add(object);
    return object;
  }

  #readSummary({ objects, sha256 }: Fields): undefined {
    const read = { objects: this.#digest.objects, sha256: this.#digest.sum() };
    if (objects !== read.objects)
      return this.#refuse(`the summary counts ${String(objects)} objects, but the export has ${read.objects}`);
    if (sha256 !== read.sha256) return this.#refuse('sha256 does not match the objects');
    this.#summary = read;
    return undefined;
  }

  #refuse(problem: string, line: number = this.#line): never {
    throw new ExportFileError(`line ${line}: ${problem}`);
  }
}

function parse(line: Buffer): Fields | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isRevision(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
