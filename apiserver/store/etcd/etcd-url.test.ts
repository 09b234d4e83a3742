import { expect } from 'chai';

import { nameOf, parseEtcdUrl } from './etcd-url.ts';

describe('etcd URLs', () => {
  it('contain the members and a prefix', () => {
    expect(parseEtcdUrl('etcd://a.example.com:2379,10.0.0.2,[::1]:80/home/stat-1/', {})).to.deep.equal({
      endpoints: ['a.example.com:2379', '10.0.0.2:2379', '[::1]:80'],
      prefix: '/home/stat-1',
      tls: undefined,
      user: undefined,
    });
  });

  it('may name certificate and key files for TLS, or only enable TLS', () => {
    const tlsOf = (query: string): unknown => parseEtcdUrl(`etcd://a/p?${query}`, {}).tls;
    const client = { cert: 'c.pem', key: '/k.pem' };
    expect(tlsOf('ca=%2Fca.pem&cert=c.pem&key=/k.pem')).to.deep.equal({ ca: '/ca.pem', client });
    expect(tlsOf('cert=c.pem&key=/k.pem')).to.deep.equal({ ca: undefined, client });
    expect(tlsOf('tls=true')).to.deep.equal({ ca: undefined, client: undefined });
  });

  it('get the user and the password from the environment, as in etcdctl', () => {
    const userOf = (env: NodeJS.ProcessEnv): unknown => parseEtcdUrl('etcd://a/p', env).user;
    expect(userOf({ ETCDCTL_USER: 'me:a:b' })).to.deep.equal({ name: 'me', password: 'a:b' });
    expect(userOf({ ETCDCTL_USER: 'me', ETCDCTL_PASSWORD: 'a:b' })).to.deep.equal({ name: 'me', password: 'a:b' });
    expect(userOf({ ETCDCTL_USER: '', ETCDCTL_PASSWORD: 'unused' })).to.equal(undefined);
    expect(() => userOf({ ETCDCTL_USER: 'me' })).to.throw(RangeError, 'ETCDCTL_PASSWORD');
  });

  for (const [url, reason] of [
    ['etcd:secret', 'a member is needed'],
    ['etcd:///secret', 'a member is needed'],
    ['etcd://secret', 'a prefix for all keys is needed'],
    ['etcd://secret:2379/', 'a prefix for all keys is needed'],
    ['etcd://secret,/p', 'not the address of a member'],
    ['etcd://a:secret/p', 'not the address of a member'],
    ['etcd://a:99999/secret', 'not the address of a member'],
    ['etcd://u:secret@a/p', 'ETCDCTL_USER'],
    ['etcd://a/secret//x', 'single slashes'],
    ['etcd://a/sec ret', 'single slashes'],
    ['etcd://a/%zz', 'percent sign'],
    [`etcd://a/${'secret'.repeat(40)}`, 'single slashes'],
    ['etcd://a/p?password=secret', 'the only parameters are ca, cert, key and tls'],
    ['etcd://a/p?cert=secret', 'cert and key belong together'],
    ['etcd://a/p?tls=secret', 'tls must be true or absent'],
    ['etcd://a/p?ca=', 'paths of files'],
    ['etcd://a/p#secret', 'a member is needed'],
  ] as const) {
    it(`are refused with a reason, but without the URL in the message: ${url.slice(0, 40)}`, () => {
      expect(() => parseEtcdUrl(url, {})).to.throw(RangeError, reason);
      expect(() => parseEtcdUrl(url, {})).to.throw(RangeError, /^not an etcd URL(?!.*secret)/);
    });
  }

  it('have a name for messages, which consists of the members and the prefix', () => {
    expect(nameOf(parseEtcdUrl('etcd://a,b:1/p?ca=x', { ETCDCTL_USER: 'me:secret' }))).to.equal('etcd://a:2379,b:1/p');
  });
});
