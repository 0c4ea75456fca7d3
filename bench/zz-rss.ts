import { mkdtempSync, rmSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApi } from '/work/w/maint/drills/lib/api.ts';
import { layHost } from '/work/w/maint/drills/lib/hosts.ts';
const folder = mkdtempSync('/tmp/maint-exp/rss-');
const started:any[] = [];
const st=(pid:number)=>readFileSync(`/proc/${pid}/status`,'utf8').match(/VmHWM.*|VmRSS.*|RssAnon.*/g)!.join(' ').replace(/\s+/g,' ');
try {
  const host = await layHost({ folder, name: 'alpha', started: (m:any) => void started.push(m) });
  await host.json('init','--host','alpha','--listen',host.address);
  const memd = await host.start();
  const api = await openApi(join(host.home,'memd.sock'));
  console.log('start', st(memd.pid));
  for (let i=0;i<2500;i++){
    await api.call('append',{events:[{kind:'assert',subject:`note/m-${i}`,value:`v${i}`,home:`file:docs/m${i}.md#top`,content:'the route from desk to mini was checked by hand '.repeat(4).trim()}],session:'bench'});
    if (i%500===499) console.log(i+1, st(memd.pid));
  }
  await new Promise(r=>setTimeout(r,5000)); console.log('idle', st(memd.pid));
  if (process.argv[2]) {
    for (let k=0;k<10;k++) await api.call('append',{events:Array.from({length:10000},(_,i)=>({kind:'lesson',subject:`lesson/b-${Math.floor((k*10000+i)/4)}`,content:`what was learned about case ${k*10000+i} `.repeat(8).trim()})),session:'bench'});
    await api.call('status',{}); console.log('after 100k', st(memd.pid));
    await new Promise(r=>setTimeout(r,10000)); console.log('idle', st(memd.pid));
    api.close(); const m2=await host.restart(); console.log('restarted', st(m2.pid)); const a2=await openApi(join(host.home,'memd.sock')); await a2.call('status',{}); await new Promise(r=>setTimeout(r,8000)); console.log('restarted idle', st(m2.pid)); a2.close();
    const {readdirSync,statSync}=await import('node:fs'); console.log(readdirSync(host.home).map(f=>f+' '+statSync(join(host.home,f)).size).join('\n'));
  } else api.close();
} finally { for (const m of started) await m.end(); rmSync(folder,{recursive:true,force:true}); }
