import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExportReader, startApiServer } from '@homeostat/apiserver';
import type { ApiServer } from '@homeostat/apiserver';
import { defineVersions, isNotFound } from '@homeostat/controller-runtime/api';
import type { ApiObject, ModelDescriptor } from '@homeostat/controller-runtime/api';
import { createClient } from '@homeostat/controller-runtime';
import { expect } from 'chai';
import { gadget, gadgetV1, gadgetV2, newGadgetV1, newGadgetV2 } from './support/models/gadget-versions.ts';

describe('a kind whose storage version changes', () => {
  let folder: string;
  let server: ApiServer | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'versions-'));
  });

  afterEach(async () => {
    await server?.stop();
    server = undefined;
    await rm(folder, { recursive: true, force: true });
  });

  const restart = async (model: ModelDescriptor): Promise<ApiServer> => {
    await server?.stop();
    server = await startApiServer({ database: `sqlite:${join(folder, 'test.db')}`, port: 0 });
    server.schemeManager.register(model);
    await server.whenReady(model);
    return server;
  };

  it('returns its objects in every version after the change, and stores each object in the new version at its next write', async () => {
    let { client } = await restart(gadgetV1);
    await client.create(gadgetV1, newGadgetV1('a', { extent: '4 cm', colour: 'blue' }) as never);
    await client.create(gadgetV1, newGadgetV1('b') as never);
    ({ client } = await restart(gadget));
    expect((await client.get(gadgetV2, 'a')).spec).to.deep.equal({ size: 4, unit: 'cm' });
    expect((await client.get(gadgetV1, 'a')).spec).to.deep.equal({ extent: '4 cm', colour: 'blue' });
    expect((await client.list(gadgetV2, { fieldSelector: 'spec.size=4' })).total).to.equal(1);
    expect(await storedVersions(server as ApiServer)).to.deep.equal({ a: 'v1', b: 'v1' });
    const { metadata } = await client.patch(gadgetV1, 'a', { type: 'merge', patch: { spec: { extent: '5 cm' } } });
    expect(metadata.version).to.equal(2);
    expect(await storedVersions(server as ApiServer)).to.deep.equal({ a: 'v2', b: 'v1' });
    ({ client } = await restart(gadgetV1));
    expect((await client.get(gadgetV1, 'b')).spec).to.deep.equal({ extent: '3 cm', colour: 'red' });
  });

  it('resumes earlier watches after the change, with events in the requested version [slow]', async () => {
    let { client } = await restart(gadgetV1);
    const { resourceVersion } = (await client.list(gadgetV1)).metadata;
    await client.create(gadgetV1, newGadgetV1('a') as never);
    await client.patch(gadgetV1, 'a', { type: 'merge', patch: { spec: { extent: '5 m' } } });
    ({ client } = await restart(gadget));
    const specs: unknown[] = [];
    for await (const { object } of client.watch(gadgetV2, { resourceVersion })) {
      specs.push((object as { spec?: unknown }).spec);
      if (specs.length === 2) break;
    }
    expect(specs).to.deep.equal([
      { size: 3, unit: 'cm' },
      { size: 5, unit: 'm' },
    ]);
  });

  it('is not served when one of its objects cannot be converted, and the error names the object [slow]', async () => {
    const { client } = await restart(gadgetV1);
    await client.create(gadgetV1, newGadgetV1('a') as never);
    await client.create(gadgetV1, newGadgetV1('huge', { extent: 'huge' }) as never);
    const failure = await restart(gadget).catch((error: unknown) => String(error));
    expect(failure).to.equal(
      'IndexBuildError: Gadget "huge" cannot be converted from shop.example.com/v1 to shop.example.com/v2: "huge" is not a size',
    );
    expect((await (await restart(gadgetV1)).client.get(gadgetV1, 'huge')).spec?.extent).to.equal('huge');
  });

  it('reads objects without a conversion if they are stored in a version that no model declares [slow]', async () => {
    const { client } = await restart({ ...gadgetV2, version: 'v3' });
    await client.create({ ...gadgetV2, version: 'v3' }, newGadgetV2('a', {}, {}, 'v3') as never);
    expect((await (await restart(gadgetV2)).client.get(gadgetV2, 'a')).spec?.size).to.equal(3);
  });

  it('may be stored in a version that is not served', async () => {
    const hidden = defineVersions({ ...gadgetV2, served: false }, gadget.versions as never);
    const { client, url } = await restart(hidden);
    await client.create(gadgetV1, newGadgetV1('a') as never);
    expect(await storedVersions(server as ApiServer)).to.deep.equal({ a: 'v2' });
    expect((await createClient(url).get(gadgetV1, 'a')).spec?.extent).to.equal('3 cm');
    for (const each of [client, createClient(url)])
      expect(isNotFound(await each.get(gadgetV2, 'a').catch((error: unknown) => error))).to.equal(true);
  });
});

/** Returns the version in which each object is stored, by name. */
async function storedVersions({ url }: ApiServer): Promise<Record<string, string | undefined>> {
  const response = await fetch(`${url}/export`);
  const versions: Record<string, string | undefined> = {};
  for (const { data } of new ExportReader().push(new Uint8Array(await response.arrayBuffer()))) {
    const object = JSON.parse(Buffer.from(data).toString('utf8')) as ApiObject;
    if (object.kind === 'Gadget') versions[object.metadata.name] = object.apiVersion.split('/')[1];
  }
  return versions;
}
