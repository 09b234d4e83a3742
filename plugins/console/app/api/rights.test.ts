import { expect } from 'chai';
import { coversPath, mayDo, readablePathsOf, rulesOf } from './rights.ts';

const review = {
  status: {
    resourceRules: [
      { verbs: ['get', 'list'], apiGroups: ['shop.example.com'], resources: ['orders', '*/status'] },
      { verbs: ['patch'], apiGroups: ['shop.example.com'], resources: ['orders'], resourceNames: ['mine'] },
    ],
    nonResourceRules: [
      { verbs: ['get'], nonResourceURLs: ['/debug/stuck', '/docs/*'] },
      { verbs: ['post'], nonResourceURLs: ['/reencrypt'] },
    ],
  },
};

describe('the rights of the person who uses the console', () => {
  it('cover verbs of kinds, of subresources, and of single objects', () => {
    const rules = rulesOf(review);
    const orders = { group: 'shop.example.com', resource: 'orders' };
    expect(mayDo(rules, { ...orders, verb: 'list' })).to.equal(true);
    expect(mayDo(rules, { ...orders, verb: 'delete' })).to.equal(false);
    expect(mayDo(rules, { ...orders, group: 'other.example.com', verb: 'list' })).to.equal(false);
    expect(mayDo(rules, { ...orders, resource: 'parcels/status', verb: 'get' })).to.equal(true);
    expect(mayDo(rules, { ...orders, verb: 'patch' })).to.equal(false);
    expect(mayDo(rules, { ...orders, verb: 'patch', name: 'mine' })).to.equal(true);
    expect(mayDo(rules, { ...orders, verb: 'patch', name: 'yours' })).to.equal(false);
  });

  it('cover the paths in rules that allow get; a path that ends with an asterisk covers all paths with the same beginning', () => {
    const paths = readablePathsOf(review);
    expect(coversPath(paths, '/debug/stuck')).to.equal(true);
    expect(coversPath(paths, '/debug/stuck/x')).to.equal(false);
    expect(coversPath(paths, '/docs/swagger-ui.css')).to.equal(true);
    expect(coversPath(paths, '/reencrypt')).to.equal(false);
    expect(coversPath(readablePathsOf(undefined), '/docs')).to.equal(false);
    const all = readablePathsOf({ status: { nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }] } });
    expect(coversPath(all, '/anything')).to.equal(true);
  });
});
