import { expect } from 'chai';
import { certificateNames, namesOfCertificate } from './certificate-names.ts';

const loopback = ['localhost', '127.0.0.1', '::1'];

describe('the names of a certificate', () => {
  it('are the loopback names and the given names, each once and in a normal form', () => {
    expect(certificateNames([])).to.deep.equal(loopback);
    expect(
      certificateNames([
        '127.0.0.1',
        'LOCALHOST',
        'Home.Example.com',
        'home.example.com',
        '[FD00:0::1]',
        'fd00::1',
        '10.0.0.7',
      ]),
    ).to.deep.equal([...loopback, 'home.example.com', 'fd00::1', '10.0.0.7']);
  });

  it('do not include unspecified addresses such as 0.0.0.0, or the interface in an address such as fe80::1%eth0', () => {
    expect(certificateNames(['0.0.0.0', '::', 'fe80::1%eth0'])).to.deep.equal([...loopback, 'fe80::1']);
  });

  it('are written in ASCII', () => {
    expect(certificateNames(['bücher.example'])).to.include('xn--bcher-kva.example');
  });

  for (const name of [
    '',
    ' ',
    'a b',
    'a,DNS:evil',
    '*.example.com',
    'a..b',
    'https://example.com',
    'a:1',
    '-a',
    'x'.repeat(64),
    'a.'.repeat(130),
  ]) {
    it(`are refused when one of them is ${JSON.stringify(name.slice(0, 20))}`, () => {
      expect(() => certificateNames([name])).to.throw(TypeError, 'is neither a host name nor an address');
    });
  }

  it('are read from an existing certificate in normal form: in lower case, with short IPv6 addresses', () => {
    const said = 'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:FD00:0:0:0:0:0:0:1';
    expect(namesOfCertificate(said)).to.deep.equal([...loopback, 'fd00::1']);
    expect(namesOfCertificate(undefined)).to.deep.equal([]);
  });
});
