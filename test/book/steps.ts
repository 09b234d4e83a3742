import { loadAll } from 'js-yaml';
import { parseFences } from './fences.ts';
import type { Fence } from './fences.ts';

/** A step of a page: runs a script, compares the output of the last script, or checks an object. */
export type Step = { readonly line: number } & (
  | { readonly kind: 'shell'; readonly script: string; readonly mayFail: boolean }
  | { readonly kind: 'output'; readonly expected: string; readonly language: string }
  | { readonly kind: 'object'; readonly object: DeclaredObject }
);

export interface DeclaredObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata?: { readonly namespace?: string };
}

export interface PagePlan {
  /** The files of the page's folder, by path. Each line of TypeScript has the line number that it has in the page. */
  readonly files: ReadonlyMap<string, string>;
  readonly steps: readonly Step[];
  /**
   * The problems with their lines: fences that no step runs or checks, fences that are skipped without a reason, and
   * the first comment with a directive (such as `<!-- file … -->`) that no fence follows.
   */
  readonly problems: readonly string[];
}

export function planPage(page: string): PagePlan {
  const plan = new Planner();
  try {
    for (const fence of parseFences(page)) plan.add(fence);
  } catch (error) {
    plan.problems.push((error as Error).message);
  }
  return plan;
}

class Planner implements PagePlan {
  readonly files = new Map<string, string>();
  readonly steps: Step[] = [];
  readonly problems: string[] = [];

  add(fence: Fence): void {
    const { directive, language, text, line } = fence;
    switch (directive?.word) {
      case 'not run':
        if (directive.argument === '') this.problems.push(`line ${line}: "not run" needs a reason`);
        return;
      case 'file':
        return this.#addFile(directive.argument, fence);
      case 'edit':
        return void this.steps.push({
          kind: 'shell',
          line,
          script: writeScript(directive.argument, text),
          mayFail: false,
        });
      case 'sh':
        return void this.steps.push({ kind: 'shell', line, script: text, mayFail: false });
      case 'output':
        return void this.steps.push({ kind: 'output', line, expected: text, language });
      case undefined:
        return this.#addByLanguage(fence);
    }
  }

  #addByLanguage(fence: Fence): void {
    const { language, text, line } = fence;
    if (language === 'ts') return this.#addFile(`line-${line}.ts`, fence);
    if (language === 'sh') return void this.steps.push({ kind: 'shell', line, script: text, mayFail: false });
    if (language === 'console') return this.#addSession(fence);
    const objects = language === 'yaml' ? objectsOf(text) : [];
    if (objects.length === 0)
      this.problems.push(`line ${line}: no test covers this fence (${language || 'no language'}), see CONTRIBUTING.md`);
    for (const object of objects) this.steps.push({ kind: 'object', line, object });
  }

  #addFile(path: string, { text, line }: Fence): void {
    const before = this.files.get(path) ?? '';
    const isCode = path.endsWith('.ts');
    const padding = isCode ? '\n'.repeat(line - before.split('\n').length) : '';
    this.files.set(path, before + padding + text);
    if (!isCode || path.includes('/')) return;
    const script = `node ${path.replace(/\.ts$/, '.js')}\n`;
    // When several code blocks of the page add to the same module, the module runs only once, after the last block.
    const earlier = this.steps.findIndex((step) => step.kind === 'shell' && step.script === script);
    if (earlier !== -1) this.steps.splice(earlier, 1);
    this.steps.push({ kind: 'shell', line, script, mayFail: false });
  }

  /**
   * Adds the steps of a fence with the language `console`. The text after `$ ` is input, the text after `> ` continues
   * the input, and all other lines are output.
   */
  #addSession({ text, line }: Fence): void {
    for (const match of text.matchAll(/^\$ (?<typed>.*(?:\n> .*)*)\n(?<answered>(?:(?!\$ ).*\n)*)/gm)) {
      const { typed = '', answered = '' } = match.groups ?? {};
      const at = line + text.slice(0, match.index).split('\n').length - 1;
      this.steps.push({ kind: 'shell', line: at, script: `${typed.replaceAll('\n> ', '\n')}\n`, mayFail: true });
      this.steps.push({ kind: 'output', line: at, expected: answered, language: 'console' });
    }
  }
}

/** Returns shell commands that replace a file in the page's folder. */
function writeScript(path: string, text: string): string {
  return `cat >"$page/${path}" <<'end of file'\n${text}end of file\n`;
}

/**
 * Returns the YAML documents if each of them has an `apiVersion` and a `kind`; an empty list otherwise, for example for
 * a `plugin.yaml` or a fragment of an object.
 */
function objectsOf(yaml: string): readonly DeclaredObject[] {
  const documents = loadAll(yaml) as readonly (Partial<DeclaredObject> | null)[];
  const isObject = (document: Partial<DeclaredObject> | null): document is DeclaredObject =>
    typeof document?.apiVersion === 'string' && typeof document.kind === 'string';
  return documents.every(isObject) ? documents : [];
}
