import { expect } from 'chai';
import type { ApiObject } from '../../api/index.ts';
import type { Informer } from '../../client/informer.ts';
import { CacheView, targetIn } from './cache-view.ts';
import { Badge } from '../harness.test-support.ts';
import { cacheIdOf } from '../definition/kind-id.ts';

const badgeAt = (uid: string, revision: number, name = 'badge', version = 'v1alpha1'): ApiObject => ({
  apiVersion: `people.example.com/${version}`,
  kind: 'Badge',
  metadata: {
    name,
    uid,
    version: 1,
    resourceVersion: String(revision),
    generation: 1,
    creationTimestamp: '2030-01-01T00:00:00Z',
  },
});

/** A cache whose content the test sets. */
class ShownCache {
  resourceVersion = '10';
  readonly objects = new Map<string, ApiObject>();

  get({ name }: { readonly name: string }): ApiObject | undefined {
    return this.objects.get(name);
  }

  show(object: ApiObject | undefined, revision: number): void {
    if (object === undefined) this.objects.delete('badge');
    else this.objects.set('badge', object);
    this.resourceVersion = String(revision);
  }
}

describe('the caches of a controller, combined with its own writes', () => {
  const target = targetIn(Badge, { name: 'badge' });
  let cache: ShownCache;
  let view: CacheView;

  beforeEach(() => {
    cache = new ShownCache();
    view = new CacheView(new Map([[cacheIdOf(Badge), cache as unknown as Informer<ApiObject>]]));
  });

  /** Puts a state into the cache. Then tells the view that the informer has observed `told`, if it is not undefined. */
  const show = (object: ApiObject | undefined, revision: number, told = object): void => {
    cache.show(object, revision);
    if (told !== undefined) view.observed(told);
  };

  it('an object that the controller created and deleted is hidden before and after the cache receives the creation', () => {
    const created = badgeAt('a', 11);
    view.record(created);
    expect(view.read(target)).to.equal(created);
    view.recordGone(target);
    expect(view.read(target)).to.equal(undefined);
    show(created, 11);
    expect(view.read(target)).to.equal(undefined);
    show(undefined, 12, badgeAt('a', 12));
    expect(view.read(target)).to.equal(undefined);
    expect(view.size).to.equal(0);
  });

  it('an object that the controller deleted is not shown when the cache receives an older change of the object', () => {
    show(badgeAt('a', 10), 10);
    view.recordGone(target);
    show(badgeAt('a', 11), 11);
    expect(view.read(target)).to.equal(undefined);
    show(undefined, 12, badgeAt('a', 12));
    expect(view.size).to.equal(0);
  });

  it('recordGone() neither throws nor records the deletion of an object when the cache throws on reading the object', () => {
    cache.get = () => {
      throw new Error('cannot be shown');
    };
    expect(() => view.recordGone(target)).not.to.throw();
    expect(view.size).to.equal(0);
  });

  it('an object that the controller created and deleted, and its predecessor of the same name, are hidden, but its successor is shown', () => {
    show(badgeAt('former', 9), 10);
    view.record(badgeAt('a', 12));
    view.recordGone(target);
    expect(view.read(target)).to.equal(undefined);
    const successor = badgeAt('next', 14);
    show(successor, 14);
    expect(view.read(target)).to.equal(successor);
    expect(view.size).to.equal(0);
  });

  it('a write is forgotten when the cache has a later revision without an event for the write, for example after a new list', () => {
    for (let index = 0; index < 5000; index += 1) {
      cache.resourceVersion = String(10 + index);
      view.record(badgeAt(`uid-${index}`, 11 + index, `badge-${index}`));
    }
    expect(view.size).to.be.below(1002);
  });

  it('a read in one API version does not return the state that the controller wrote in another version', () => {
    view.record(badgeAt('a', 11, 'badge', 'v2'));
    expect(view.read(target)).to.equal(undefined);
    expect(view.size).to.equal(0);
  });
});
