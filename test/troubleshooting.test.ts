import { expect } from 'chai';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textsIn } from './book/messages.ts';
import type { SourceText } from './book/messages.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The classes of errors that operators see when the server starts, in the log, or in the body of a 429, 503 or 504. */
const errorsForOperators =
  /^(StoreError|ConfigError|SettingsError|IndexBuildError|IndexValueError|BrokenObjectError|ExportFileError|ApiError (ServiceUnavailable|TooManyRequests|Timeout))\b/;

/** The files whose errors all prevent the start of the server or of a plugin. */
const filesForOperators = /^apiserver\/tls\//;

/**
 * The functions and types whose texts are reasons in `/readyz`, in the 503 of a kind, or in the status of a failed
 * plugin.
 */
const functionsForOperators: ReadonlySet<string> = new Set([
  'PluginFailure',
  'awaited',
  'awaitedKind',
  'cycleThrough',
  'pluginHostOptions',
  'readinessProblem',
  'reasonOf',
  'wrongDependencies',
]);

/** Errors that only a mistake in the server's own code can cause. Operators cannot cause or repair them. */
const internal: ReadonlySet<string> = new Set([
  '… of … has no data',
  'a store can be opened only once',
  'operation on … has no kind',
  'operation on … is not one of create, update, delete',
  'the store returned no outcome',
  'two operations on … in one batch',
]);

describe('The page on troubleshooting [slow] [spec experience-troubleshooting]', () => {
  const shown = messagesOf(readFileSync(join(root, 'docs/troubleshooting.md'), 'utf8'));
  const texts = textsIn(root, ['apiserver', 'plugins/host']);
  const all = new Set(texts.map(({ text }) => text));

  it('has only messages that exist in the source', () => {
    expect(shown).to.have.length.above(50);
    expect(shown.filter((message) => !all.has(message))).to.deep.equal([]);
  });

  it('has every message that operators can see', () => {
    const expected = texts.filter(isForOperators).map(({ text }) => text);
    expect([...new Set(expected)].filter((text) => !shown.includes(text) && !internal.has(text))).to.deep.equal([]);
  });

  it('may omit the internal errors that this test lists, each of which exists in the source', () => {
    expect([...internal].filter((text) => !all.has(text))).to.deep.equal([]);
  });
});

/** Returns the code spans in the first column of the page's tables. */
function messagesOf(page: string): readonly string[] {
  return page
    .split('\n')
    .flatMap((line) => /^\| (`.*?`) +\|/.exec(line)?.[1] ?? [])
    .flatMap((cell) => [...cell.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text));
}

function isForOperators({ text, path, thrownAs, within }: SourceText): boolean {
  if (within.includes('PluginFailure')) return true;
  if (!isSentence(text)) return false;
  if (thrownAs !== undefined && (errorsForOperators.test(thrownAs) || filesForOperators.test(path))) return true;
  const isCause = path.startsWith('plugins/host/') || path.startsWith('apiserver/crd/');
  return isCause && within.some((name) => functionsForOperators.has(name));
}

/** Returns true unless the text is only a name, or only a prefix of another error's message, such as `SQLite: …`. */
function isSentence(text: string): boolean {
  return (text.match(/\p{L}{2,}/gu) ?? []).length > 1;
}
