import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { lintPlanted } from './support/lint/planted-lint.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

/**
 * Words that the pages of the book must not contain. The lint rule refuses the same words in comments and texts. Code
 * may contain these words, for example as the name of a user.
 */
const refused =
  /\b(?:anew|whoever|somebody|nobody|hence|thus|ought to|goes on|go on|went on|(?:has|have) yet to|nothing but|hears? of)\b/i;

describe('the rule of plain English', () => {
  it('refuses docstrings without a subject, and words on its list [slow]', async () => {
    const reported = await lintPlanted('homeostat(plain-english)', {
      'test/docstring.ts': '/** Of the controller. */\nexport const name = 1;\n',
      'test/comment.ts': '// The list is read anew.\nexport const name = 1;\n',
      'test/message.ts': "export const message = 'whoever asks gets it';\n",
      'test/template.ts': 'export const message = (n: number): string => `somebody wrote ${n}`;\n',
      'test/value.ts': "export const value = 'somebody';\n",
      'test/nobody.ts': "export const message = 'a kind that nobody serves';\n",
      'test/name.ts': "export const message = 'there is no user nobody';\n",
      'test/before.ts': '// The session of before ends.\nexport const name = 1;\n',
      'test/whether.ts': '/** Whether it is open. */\nexport const name = 1;\n',
      'test/why.ts': '/** Why it failed. */\nexport const name = 1;\n',
      'test/what.ts': '/** What a run wrote. */\nexport const name = 1;\n',
      'test/question.ts': '/** What does a run cost? */\nexport const name = 1;\n',
      'test/goes-on.ts': '// The copy goes on meanwhile.\nexport const name = 1;\n',
      'test/same.ts': '/** The same without a session. */\nexport const name = 1;\n',
      'test/same-object.ts': '/** The same object at each call. */\nexport const name = 1;\n',
      'test/only.ts': '// It reads nothing but names.\nexport const name = 1;\n',
      'test/none.ts': "export const message = 'a size that is none';\n",
      'test/none-of.ts': "export const message = 'a name that is none of the known ones';\n",
      'test/hears.ts': '// The replica hears of the change later.\nexport const name = 1;\n',
      'test/clear.ts': '/** The name of the controller. */\nexport const name = 1;\n',
    });
    expect(Object.keys(reported).sort()).to.deep.equal([
      'test/before.ts',
      'test/comment.ts',
      'test/docstring.ts',
      'test/goes-on.ts',
      'test/hears.ts',
      'test/message.ts',
      'test/nobody.ts',
      'test/none.ts',
      'test/only.ts',
      'test/same.ts',
      'test/template.ts',
      'test/what.ts',
      'test/whether.ts',
      'test/why.ts',
    ]);
    expect(reported['test/comment.ts']).to.equal('"anew" makes readers stop: write "again".');
    expect(reported['test/docstring.ts']).to.match(/^A docstring starts with what it describes .* not with "Of"\.$/);
  });

  it('applies to the pages of the book', () => {
    const names = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' });
    const pages = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...names.map((name) => join('docs', name))];
    const found = pages
      .filter((page) => page.endsWith('.md'))
      .flatMap((page) => {
        const lines = readFileSync(join(root, page), 'utf8').split('\n');
        return lines.flatMap((line, index) => (refused.test(line) ? [`${page}:${index + 1}: ${line}`] : []));
      });
    expect(found).to.deep.equal([]);
  });
});
