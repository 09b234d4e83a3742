import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { startTestServer } from 'homeostat/testing';
import readmePlugin from './support/readme-plugin.ts';

const readme = new URL('../../README.md', import.meta.url);
const source = new URL('../support/readme-plugin.ts', import.meta.url);

describe('README.md', () => {
  it('shows the plugin that is tested here, to the letter', async () => {
    const [, snippet] = /```ts\n([\s\S]+?)```/.exec(await readFile(readme, 'utf8')) ?? [];
    expect(snippet).to.equal(await readFile(source, 'utf8'));
  });

  it('shows a plugin that greets', async () => {
    const server = await startTestServer({ plugins: [readmePlugin] });
    try {
      const persons = `${server.url}/apis/people.example.com/v1alpha1/persons`;
      const ada =
        'apiVersion: people.example.com/v1alpha1\nkind: Person\nmetadata: { name: ada }\nspec: { name: Ada }\n';
      const created = await fetch(persons, {
        method: 'POST',
        body: ada,
        headers: { 'Content-Type': 'application/yaml' },
      });
      expect(created.status).to.equal(201);
      await server.settle();
      const stored = (await (await fetch(`${persons}/ada`)).json()) as { status: { greeting: string } };
      expect(stored.status.greeting).to.equal('Hello Ada');
      const found = (await (await fetch(`${persons}?fieldSelector=spec.name=Ada`)).json()) as { total: number };
      expect(found.total).to.equal(1);
    } finally {
      await server.stop();
    }
  });
});
