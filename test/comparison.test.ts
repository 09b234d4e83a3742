import { expect } from 'chai';
import { readFile, readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const root = new URL('../../', import.meta.url);
const examples = ['06-memcached', '07-web-page', '08-composition', '09-volume-claim', '10-cron-job'] as const;

/** Returns the number of lines with code, without empty lines and lines that have only a comment. */
function linesOfCode(text: string): number {
  const lines = text.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !/^(\/\/|\/\*|\*)/.test(line)).length;
}

async function countsOf(example: string): Promise<string> {
  const folder = new URL(`examples/${example}/`, root);
  const files = (await readdir(folder)).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  const counts = await Promise.all(
    files.map(async (name) => linesOfCode(await readFile(new URL(name, folder), 'utf8'))),
  );
  const controllers = {
    '06-memcached': 'memcached',
    '07-web-page': 'web-page',
    '08-composition': 'environment',
    '09-volume-claim': 'claim',
    '10-cron-job': 'cron-job',
  };
  const main = `${controllers[example as (typeof examples)[number]]}-controller.ts`;
  const controllerLines = counts[files.indexOf(main)] ?? 0;
  const all = counts.reduce((sum, count) => sum + count, 0);
  return `${controllerLines} | ${all} | ${files.length}`;
}

describe('docs/comparison.md', () => {
  for (const example of examples) {
    it(`has the right numbers of lines and files for ${example}`, async () => {
      const page = await readFile(fileURLToPath(new URL('docs/comparison.md', root)), 'utf8');
      const row = page.split('\n').find((line) => line.startsWith(`| [${example}]`)) ?? '';
      const cells = row.split('|').map((cell) => cell.trim());
      expect(cells.slice(2, 5).join(' | ')).to.equal(await countsOf(example));
    });
  }
});
