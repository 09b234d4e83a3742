import { expect } from 'chai';
import { AssetTable } from './asset-table.ts';

describe('the table of assets', () => {
  it('refuses a second folder for a plugin; a second call of the function that closes a folder does not close the folder that was opened next', () => {
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
