import { controller, controllerOf, setCondition } from 'homeostat';
import type { ApiObject, Client, Condition, Model } from 'homeostat';
import { Certificate, Page, Redirect, Site } from './models.ts';

/** The fields that all dependents have. */
type Dependent = ApiObject & { readonly status?: { readonly ready?: boolean; readonly observedGeneration?: number } };
type Dependents = Readonly<Record<string, readonly Dependent[]>>;

/** Creates, changes and deletes the dependents of a site as its spec requires, and summarizes their state. */
export const siteController = controller(Site, {
  // A change of an object of these kinds reconciles the site that owns it, so a deleted object is created again.
  owns: [Page, Redirect, Certificate],
  async reconcile({ object, client, ensure, status }) {
    const site = object.metadata.name;
    const { host, pages = [], redirects = [] } = object.spec;
    // `ensure` creates or changes the object, makes the site its owner, and writes nothing when nothing differs.
    const certificate = await ensure(Certificate, site, { spec: { host } });
    const keptPages = await Promise.all(
      pages.map(({ name, title }) => ensure(Page, `${site}.${name}`, { spec: { site, title } })),
    );
    const keptRedirects = await Promise.all(
      redirects.map(({ name, to }) => ensure(Redirect, `${site}.${name}`, { spec: { site, to } })),
    );
    await prune(client, Page, { owner: object, kept: keptPages });
    await prune(client, Redirect, { owner: object, kept: keptRedirects });
    await status({
      conditions: conditionsOf(object.status?.conditions, {
        CertificateReady: [certificate],
        PagesReady: keptPages,
        RedirectsReady: keptRedirects,
      }),
    });
  },
  // This controller needs no cleanup: because of the owner references, the server deletes the dependents with the site.
});

/** Deletes the objects of the site that its spec no longer names, but no objects of other owners. */
async function prune<T extends ApiObject>(
  client: Client,
  model: Model<T>,
  { owner, kept }: { readonly owner: ApiObject; readonly kept: readonly T[] },
): Promise<void> {
  const names = new Set(kept.map(({ metadata }) => metadata.name));
  const { items } = await client.list(model, { fieldSelector: `spec.site=${owner.metadata.name}` });
  for (const item of items) {
    const { name, uid } = item.metadata;
    if (names.has(name) || controllerOf(item)?.uid !== owner.metadata.uid) continue;
    // With the uid, the deletion fails if another object of the same name was created meanwhile.
    await client.delete(model, name, { preconditions: { uid } });
  }
}

/** Returns one condition for each kind of dependent, and the condition Ready for all dependents together. */
function conditionsOf(present: readonly Condition[] | undefined, dependents: Dependents): readonly Condition[] {
  const now = new Date().toISOString();
  let conditions = present ?? [];
  for (const [type, objects] of Object.entries({ ...dependents, Ready: Object.values(dependents).flat() })) {
    const waiting = objects
      .filter((object) => !isReady(object))
      .map(({ kind, metadata }) => `${kind} ${metadata.name}`);
    const isTrue = waiting.length === 0;
    const reason = isTrue ? 'AllReady' : 'NotReady';
    const message = isTrue ? '' : `not ready: ${waiting.join(', ')}`;
    conditions = setCondition(conditions, { type, status: isTrue ? 'True' : 'False', reason, message }, now);
  }
  return conditions;
}

/**
 * True when the dependent is ready for its current spec. Just after a change, its status is still about the old spec.
 */
function isReady({ metadata, status }: Dependent): boolean {
  return status?.ready === true && status.observedGeneration === metadata.generation && !metadata.deletionTimestamp;
}
