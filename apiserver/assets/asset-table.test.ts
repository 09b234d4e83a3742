import { expect } from 'chai';
import { AssetTable } from './asset-table.ts';

describe('the table of assets', () => {
  it('has one folder per name; closing a removed folder again does not remove the folder that replaced it', () => {
    const table = new AssetTable();
    const closeFirst = table.open('shop', '/srv/first');
    expect(() => table.open('shop', '/srv/second')).to.throw('"shop" has assets already');
    expect(table.find('shop')?.root).to.equal('/srv/first');
    closeFirst();
    expect(table.find('shop')).to.equal(undefined);
    const closeSecond = table.open('shop', '/srv/second');
    closeFirst();
    expect(table.find('shop')?.root).to.equal('/srv/second');
    closeSecond();
  });
});
