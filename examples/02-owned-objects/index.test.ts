import { expect } from 'chai';
import { isInvalid, isNotFound } from 'homeostat';
import type { ApiObject, Client, Model } from 'homeostat';
import { startTestServer } from 'homeostat/testing';
import type { TestServer } from 'homeostat/testing';
import { fileURLToPath } from 'node:url';
import { Certificate, Page, Redirect, Site } from './models.ts';

const folder = fileURLToPath(new URL('..', import.meta.url));

describe('example 02: owned objects', () => {
  let server: TestServer;
  let client: Client;

  beforeEach(async () => {
    server = await startTestServer({ plugins: [folder] });
    client = server.httpClient;
    const pages = [
      { name: 'about', title: 'About us' },
      { name: 'news', title: 'News' },
    ];
    const spec = { host: 'blog.example.com', pages, redirects: [{ name: 'team', to: '/about' }] };
    await client.create(Site, { metadata: { name: 'blog' }, spec });
    await server.settle();
  });

  afterEach(async () => server.stop());

  const namesOf = async (model: Model): Promise<string[]> =>
    (await client.list(model, { sort: 'metadata.name,asc' })).items.map(({ metadata }) => metadata.name);
  const everything = async (): Promise<string[][]> =>
    Promise.all([Page, Redirect, Certificate].map((model) => namesOf(model)));
  const conditions = async (): Promise<Record<string, string>> => {
    const { status } = await client.get(Site, 'blog');
    return Object.fromEntries((status?.conditions ?? []).map((each) => [each.type, `${each.status} ${each.message}`]));
  };
  const changeSite = async (spec: object): Promise<void> => {
    await client.patch(Site, 'blog', { type: 'merge', patch: { spec } });
    await server.settle();
  };
  /** Sets the finalizers of a page. A deleted page stays until it has none. */
  const setFinalizers = (finalizers: readonly string[]): Promise<ApiObject> =>
    client.patch(Page, 'blog.news', { type: 'merge', patch: { metadata: { finalizers } } });

  it('creates the objects of a site, which the site owns, and summarizes their state', async () => {
    expect(await everything()).to.deep.equal([['blog.about', 'blog.news'], ['blog.team'], ['blog']]);
    const site = await client.get(Site, 'blog');
    const { metadata, spec } = await client.get(Page, 'blog.about');
    expect(spec).to.deep.equal({ site: 'blog', title: 'About us' });
    expect(metadata.ownerReferences).to.deep.equal([
      {
        apiVersion: 'sites.example.com/v1alpha1',
        kind: 'Site',
        name: 'blog',
        uid: site.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(await conditions()).to.deep.equal({
      CertificateReady: 'True ',
      PagesReady: 'True ',
      RedirectsReady: 'True ',
      Ready: 'True ',
    });
    expect(site.status?.observedGeneration).to.equal(1);
  });

  it('changes, adds and deletes the objects of a site when its spec changes, and does not change other objects', async () => {
    const notOurs = { metadata: { name: 'guestbook' }, spec: { site: 'blog', title: 'Guests' } };
    await client.create(Page, notOurs);
    const { metadata: before } = await client.get(Page, 'blog.about');
    const pages = [
      { name: 'about', title: 'About' },
      { name: 'contact', title: 'Contact' },
    ];
    await changeSite({ pages, redirects: null });
    expect(await everything()).to.deep.equal([['blog.about', 'blog.contact', 'guestbook'], [], ['blog']]);
    const { metadata, spec } = await client.get(Page, 'blog.about');
    expect(spec.title).to.equal('About');
    expect(metadata).to.include({ uid: before.uid, generation: 2 });
    expect((await client.get(Site, 'blog')).status?.observedGeneration).to.equal(2);
  });

  it('creates a deleted object again, and corrects a changed one', async () => {
    const { metadata: before } = await client.get(Certificate, 'blog');
    await client.delete(Certificate, 'blog');
    await client.patch(Page, 'blog.news', { type: 'merge', patch: { spec: { title: 'Fake news' } } });
    await server.settle();
    expect((await client.get(Certificate, 'blog')).metadata.uid).not.to.equal(before.uid);
    expect((await client.get(Page, 'blog.news')).spec.title).to.equal('News');
    expect(await conditions()).to.include({ Ready: 'True ' });
  });

  it('reports that a site is not ready while one of its objects is not ready, and names that object', async () => {
    await changeSite({ host: 'blog.invalid' });
    const notReady = 'False not ready: Certificate blog';
    expect(await conditions()).to.include({ CertificateReady: notReady, PagesReady: 'True ', Ready: notReady });
    await changeSite({ host: 'blog.example.org' });
    expect(await conditions()).to.include({ CertificateReady: 'True ', Ready: 'True ' });
  });

  it('refuses a site whose spec lists two pages with the same name', async () => {
    const page = { name: 'about', title: 'About' };
    const refused: unknown = await changeSite({ pages: [page, page] }).catch((error: unknown) => error);
    expect(isInvalid(refused)).to.equal(true);
    expect((refused as Error).message).to.include('spec.pages[1]');
  });

  it('deletes a site at once, and its objects afterwards, with the policy Background', async () => {
    await setFinalizers(['example.com/hold']);
    expect(await client.delete(Site, 'blog', { propagationPolicy: 'Background' })).to.equal(undefined);
    await server.settle();
    expect(await everything()).to.deep.equal([['blog.news'], [], []]);
    await setFinalizers([]);
    expect(await namesOf(Page)).to.deep.equal([]);
  });

  it('keeps a deleted site until all its objects are gone, with the policy Foreground', async () => {
    await setFinalizers(['example.com/hold']);
    await client.delete(Site, 'blog', { propagationPolicy: 'Foreground' });
    await server.settle();
    expect(await everything()).to.deep.equal([['blog.news'], [], []]);
    expect((await client.get(Site, 'blog')).metadata.finalizers).to.deep.equal(['foregroundDeletion']);
    await setFinalizers([]);
    await server.settle();
    expect(isNotFound(await client.get(Site, 'blog').catch((error: unknown) => error))).to.equal(true);
    expect(await namesOf(Page)).to.deep.equal([]);
  });
});
