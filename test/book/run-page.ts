import { eventually } from '@homeostat/controller-runtime/testing';
import { freePort } from '../support/network/free-port.ts';
import { isShown } from './output.ts';
import { noKubectl, Shell } from './shell.ts';
import type { DeclaredObject, PagePlan, Step } from './steps.ts';

export interface PagePlace {
  /** The folder with the page's files, in which its commands run. */
  readonly folder: string;
  readonly programs: string;
}

/** The port of the server in the texts of the pages. */
const shownPort = 8700;

/** Runs the fences of a page from the first to the last. Rejects with the line of the first mistake. */
export async function runPage(plan: PagePlan, { folder, programs }: PagePlace): Promise<void> {
  if (plan.problems.length > 0) throw new Error(plan.problems.join('\n'));
  const port = await freePort();
  const shell = await Shell.start({ folder, programs, port });
  const run = new PageRun(shell, port);
  try {
    for (const step of plan.steps) {
      await run.take(step).catch((error: unknown) => {
        throw new Error(`line ${step.line}: ${(error as Error).message}`, { cause: error });
      });
    }
  } finally {
    await shell.stop();
  }
}

class PageRun {
  readonly #shell: Shell;
  readonly #port: number;
  #last: { readonly step: Step & { readonly kind: 'shell' }; readonly printed: string } | undefined;

  constructor(shell: Shell, port: number) {
    this.#shell = shell;
    this.#port = port;
  }

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'shell':
        return this.#type(step);
      case 'output':
        return this.#compare(step);
      case 'object':
        return this.#tryObject(step.object);
    }
  }

  async #type(step: Step & { readonly kind: 'shell' }): Promise<void> {
    const script = step.script.replaceAll(`:${shownPort}`, `:${this.#port}`);
    const printed = await this.#shell.run(script, step);
    this.#last = { step, printed: printed.replaceAll(`:${this.#port}`, `:${shownPort}`) };
  }

  /**
   * Compares the output of the last command with the text of the page. Repeats a command that only reads, because a
   * controller may not have run yet.
   */
  async #compare({ expected, language }: Step & { readonly kind: 'output' }): Promise<void> {
    const { step } = this.#last ?? {};
    if (step === undefined) throw new Error('no command has run that could have printed this');
    const printed = (): string => this.#last?.printed ?? '';
    if (printed().includes(noKubectl)) return;
    const isRight = (): boolean => isShown(expected, printed(), language);
    if (!isRight() && isRead(step.script))
      await eventually(async () => {
        await this.#type(step);
        return isRight();
      }).catch(() => undefined);
    if (!isRight()) throw new Error(`this is shown:\n${expected}\nbut this was printed:\n${printed()}`);
  }

  /** Checks by a dry run that the server of the page would store the object. */
  async #tryObject(object: DeclaredObject): Promise<void> {
    const base = `http://127.0.0.1:${this.#port}/${object.apiVersion.includes('/') ? 'apis' : 'api'}/${object.apiVersion}`;
    const served = (await (await fetch(base)).json()) as { resources?: { kind: string; name: string }[] };
    const resource = served.resources?.find(({ kind, name }) => kind === object.kind && !name.includes('/'));
    if (resource === undefined) throw new Error(`${object.apiVersion} ${object.kind} is not served here`);
    const { namespace } = object.metadata ?? {};
    const collection = namespace === undefined ? resource.name : `namespaces/${namespace}/${resource.name}`;
    const response = await fetch(`${base}/${collection}?dryRun=All&fieldValidation=Strict`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(object),
    });
    if (!response.ok) throw new Error(await response.text());
  }
}

function isRead(script: string): boolean {
  return /^(ls |curl|kubectl .*\bget\b)/.test(script) && !/ (-X|-d|--data\S*|--request) /.test(script);
}
