import { expect } from 'chai';
import { planPage } from './steps.ts';

const fence = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\`\n`;

describe('planPage', () => {
  it('reports the line of each fence that no step runs or checks', () => {
    const page = ['Text', fence('json', '{}'), fence('', 'a drawing'), fence('sql', 'SELECT'), fence('yaml', 'a: 1')];
    const { problems } = planPage(page.join('\n'));
    expect(problems.map((problem) => problem.split(':')[0])).to.deep.equal(['line 3', 'line 7', 'line 11', 'line 15']);
  });

  it('skips a code block under the comment `not run: <reason>`, and reports a problem if the comment has no reason', () => {
    expect(planPage(`<!-- not run: it is a drawing -->\n\n${fence('', 'x')}`).problems).to.deep.equal([]);
    const { problems } = planPage(`<!-- not run -->\n\n${fence('sh', 'x')}`);
    expect(problems).to.deep.equal(['line 4: "not run" needs a reason']);
  });

  it('reports a comment that has neither a fence right below it nor hidden content', () => {
    const problemsOf = (page: string): readonly string[] => planPage(page).problems;
    const above = 'line 1: there is no fence right below "file"';
    expect(problemsOf(`<!-- file: a.ts -->\n\nText\n\n${fence('ts', 'x')}`)).to.deep.equal([above]);
    expect(problemsOf(`<!-- file: a.ts -->\n<!-- file: b.ts -->\n${fence('ts', 'x')}`)).to.deep.equal([above]);
    expect(problemsOf('Text\n\n<!-- output -->\n')).to.deep.equal(['line 3: there is no fence right below "output"']);
  });

  it('keeps the line numbers of a page in TypeScript files, and runs a module once, after the last code block that adds to it', () => {
    const page = `<!-- file: a.ts\nconst a = 1;\n-->\n<!-- file: a.ts -->\n\n${fence('ts', 'a + 1;')}\n${fence('sh', 'ls')}\n<!-- file: a.ts\na + 2;\n-->\n`;
    const { files, steps } = planPage(page);
    const lines = page.split('\n');
    const code = files.get('a.ts')?.split('\n') ?? [];
    for (const statement of ['const a = 1;', 'a + 1;', 'a + 2;'])
      expect(code.indexOf(statement)).to.equal(lines.indexOf(statement));
    expect(steps.map((step) => step.kind === 'shell' && step.script)).to.deep.equal(['ls\n', 'node a.js\n']);
  });

  it('compiles a TypeScript file whose path contains a folder, but adds no step that runs the file', () => {
    const { files, steps } = planPage(`<!-- file: plugin/index.ts -->\n\n${fence('ts', 'export {};')}`);
    expect([...files.keys()]).to.deep.equal(['plugin/index.ts']);
    expect(steps).to.deep.equal([]);
  });

  it('for a code fence with the comment `edit`, adds a step that replaces the file, and does not compile it', () => {
    const { files, steps } = planPage(`<!-- edit: plugin/index.ts -->\n\n${fence('ts', 'export {};')}`);
    expect([...files.keys()]).to.deep.equal([]);
    const script = `cat >"$page/plugin/index.ts" <<'end of file'\nexport {};\nend of file\n`;
    expect(steps).to.deep.equal([{ kind: 'shell', line: 4, script, mayFail: false }]);
  });

  it('separates the input from the output in a fence with the language `console`', () => {
    const { steps } = planPage(fence('console', "$ echo 'a\n> b'\na\nb\n$ true\n$ echo c\nc"));
    expect(steps).to.deep.equal([
      { kind: 'shell', line: 2, script: "echo 'a\nb'\n", mayFail: true },
      { kind: 'output', line: 2, expected: 'a\nb\n', language: 'console' },
      { kind: 'shell', line: 6, script: 'true\n', mayFail: true },
      { kind: 'output', line: 6, expected: '', language: 'console' },
      { kind: 'shell', line: 7, script: 'echo c\n', mayFail: true },
      { kind: 'output', line: 7, expected: 'c\n', language: 'console' },
    ]);
  });
});
