/* Model of the row "four": log of segments, cyclic sorted sweep home, 16 writers, 1 reader. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
typedef uint64_t u64;
#include "tests/bench/disk/disk-model.h"
#define PAGES 262144
#define BLOCKS 16384
#define PPB 16
#define NSEG 4096
static int seg_of[PAGES];            /* segment of page's live extent, -1 none */
static int live[NSEG], inuse[NSEG], frees[NSEG], nfree;
static int opens[1024],fills[1024],K=1;
static int nsegs;
static u64 now;
static u64 rng=88172645463325252ULL;
static u64 rnd(void){rng^=rng<<13;rng^=rng>>7;rng^=rng<<17;return rng;}
/* params */
static int BATCH=2048,URG=256,INFLIGHT=128,pace=0,hole=0,reader=1;
static double A=2, hi=.50, cap=.9375, secs=15; static double flushms=1;
static u64 SSDNS=25000;
/* disk */
struct req{u64 sector,arr;int kind;int page;}; /* 0 home,1 read */
static struct req q[4096];static int nq;static struct req el[8192];static int nel;static u64 elpos;static int direct=1;static int RD=0;static u64 ndirect;
static struct disk_head head;static int busy;static struct req serving;static u64 disk_end;
static void refill(void){
  while(nel&&nq<32){int b=-1,lo=0;for(int i=0;i<nel;i++){if(el[i].sector<el[lo].sector)lo=i;if(el[i].sector>=elpos&&(b<0||el[i].sector<el[b].sector))b=i;}
    for(int i=0;i<nel;i++)if(el[i].arr+5000000000ULL<now){b=i;break;}
    if(b<0)b=lo;elpos=el[b].sector+8;q[nq++]=el[b];el[b]=el[--nel];}}
static void start(void){
  refill();
  if(busy||!nq)return;int best=-1;u64 bw=~0ULL;int lim=nq;static int since;if(RD)for(int i=0;i<nq;i++)if(q[i].kind==1&&(++since>RD||nq==1)){best=i;since=0;goto got;}
  /* the elevator above: reads first into the window, home is in order already */
  for(int i=0;i<lim;i++){if(RD&&q[i].kind==1)continue;if(q[i].arr+1000000000ULL<now){best=i;break;}
    u64 w=disk_wait_ns(&head,q[i].sector,q[i].kind!=1,now);if(w<bw){bw=w;best=i;}}
  got:serving=q[best];memmove(q+best,q+best+1,(nq-best-1)*sizeof*q);nq--;busy=1;
  disk_end=disk_serve(&head,serving.sector,8,serving.kind!=1,now);}
static void submit(u64 sector,int kind,int page){
  struct req r={sector,now,kind,page};
  if(kind==1){memmove(q+1,q,nq*sizeof*q);q[0]=r;nq++;}else el[nel++]=r;
  start();}
/* occupancy in extents */
static int occ_places;               /* hole: live places */
static double used(void){return hole?occ_places:(double)nsegs*16;}
static double C(void){return cap*NSEG*16;}
static int room(void){
  if(hole)return occ_places<C();
  return nsegs+1<=cap*NSEG;}
static int isopen(int s){for(int i=0;i<K;i++)if(opens[i]==s)return 1;return 0;}
static void release(int s){if(inuse[s]&&!live[s]&&!isopen(s)){inuse[s]=0;nsegs--;frees[nfree++]=s;}}
static int batched[4096],nb;          /* pages of the batch that went home */
static int pend_seg[4096];
static void absorb(int p){
  if(hole){if(seg_of[p]<0){seg_of[p]=0;occ_places++;}return;}
  static int bound[1024],smp[128],ns;int b=p/PPB,g=K-1;while(g&&bound[g]>b)g--;
  smp[ns++]=b;if(ns==128){for(int i=1;i<128;i++)for(int j=i;j&&smp[j-1]>smp[j];j--){int t=smp[j];smp[j]=smp[j-1];smp[j-1]=t;}
    for(int i=1;i<K;i++)bound[i]=smp[i*128/K];ns=0;}
  if(opens[g]<0||fills[g]==16){int o=opens[g];opens[g]=frees[--nfree];inuse[opens[g]]=1;nsegs++;fills[g]=0;if(o>=0)release(o);}
  int s=seg_of[p];seg_of[p]=opens[g];live[opens[g]]++;fills[g]++;
  if(s>=0){live[s]--;release(s);}
}
/* writers */
static int wpage[16];static u64 wbegan[16],wend[16];static int wstate[16]; /*1 ssd,2 waits*/
static double tokens;static int homing;static u64 hist[200000];static u64 nwrites;
static double *lat;
static int cur_block;
static int inflight,sent,nbatch;static int bpages[4096];static int bseg[4096];static int bstate; /*0 none 1 copying 2 flush*/
static u64 flush_end;static u64 nhome;
static int waiting;static u64 copies;
static void tryw(int i){
  int p=wpage[i];
  int ok=room();
  if(ok&&pace&&homing&&tokens<1)ok=0;
  if(!room()&&direct){int b=p/PPB,has=0;for(int k=0;k<PPB;k++)has|=seg_of[b*PPB+k]>=0;
    if(!has){wstate[i]=3;ndirect++;submit((u64)p*8,2,i);return;}}
  if(!ok){wstate[i]=2;return;}
  if(pace&&homing)tokens-=1;
  absorb(p);wstate[i]=1;wend[i]=now+SSDNS*(1);}
static void wake(void){static int rr;for(int k=0;k<16;k++){int i=(rr+k)%16;if(wstate[i]==2)tryw(i);}rr=(rr+1)%16;}
static int waiters(void){int n=0;for(int i=0;i<16;i++)n+=wstate[i]==2;return n;}
static int empty_sweep;
static void begin_batch(void){
  if(bstate)return;
  if(!homing){if(used()>hi*NSEG*16)homing=1;else return;}
  else if(used()<(hi-.05)*NSEG*16){homing=0;wake();return;}
  int max=(!pace&&waiters())?URG:BATCH;nbatch=0;int seen=0;
  while(seen<BLOCKS){for(int k=0;k<PPB;k++){int p=cur_block*PPB+k;if(seg_of[p]>=0){bpages[nbatch]=p;bseg[nbatch]=seg_of[p];nbatch++;}}
    cur_block=(cur_block+1)%BLOCKS;seen++;if(nbatch>=max-16)break;if(cur_block==0&&nbatch)break;}
  if(!nbatch)return;sent=0;inflight=0;bstate=1;}
static void pump(void){while(bstate==1&&sent<nbatch&&inflight<INFLIGHT){inflight++;submit((u64)bpages[sent]*8,0,sent);sent++;}}
static void end_batch(void){
  for(int i=0;i<nbatch;i++){int p=bpages[i];
    if(hole){seg_of[p]=-1;occ_places--;continue;}
    if(seg_of[p]==bseg[i]){seg_of[p]=-1;live[bseg[i]]--;release(bseg[i]);}}
  nhome+=nbatch;bstate=0;}
static int cmp(const void*a,const void*b){double x=*(double*)a,y=*(double*)b;return x<y?-1:x>y;}
int main(int c,char**v){
  for(int i=1;i<c;i++){char*e=strchr(v[i],'=');*e=0;double d=atof(e+1);
   #define P(n) if(!strcmp(v[i],#n))n=d;
   P(K)P(direct)P(RD)P(BATCH)P(URG)P(INFLIGHT)P(pace)P(hole)P(reader)P(A)P(hi)P(cap)P(secs)P(flushms)*e='=';}
  memset(opens,255,sizeof opens);lat=malloc(8*20000000);memset(seg_of,255,sizeof seg_of);for(int i=0;i<NSEG;i++)frees[nfree++]=i;
  u64 T=secs*1e9;u64 nreads=0;
  for(int i=0;i<16;i++){wpage[i]=rnd()%PAGES;wbegan[i]=0;tryw(i);}
  if(reader)submit((rnd()%PAGES)*8,1,0);
  u64 lastw=0,lasth=0,tick=T/5;
  while(now<T){
    begin_batch();pump();
    u64 nx=~0ULL;int who=-1;
    for(int i=0;i<16;i++)if(wstate[i]==1&&wend[i]<nx){nx=wend[i];who=i;}
    if(busy&&disk_end<nx){nx=disk_end;who=100;}
    if(bstate==2&&flush_end<nx){nx=flush_end;who=101;}
    if(nx==~0ULL){fprintf(stderr,"stuck at %g\n",now/1e9);break;}
    now=nx;
    if(now>tick){fprintf(stderr,"  %4.1fs writes %6llu home %6llu used %.2f\n",tick/1e9,(unsigned long long)(nwrites-lastw),(unsigned long long)(nhome-lasth),used()/NSEG/16);lastw=nwrites;lasth=nhome;tick+=T/5;}
    if(who<16){lat[nwrites++]=(now-wbegan[who])/1e6;wpage[who]=rnd()%PAGES;wbegan[who]=now;tryw(who);}
    else if(who==100){busy=0;struct req r=serving;
      if(r.kind==2){int w=r.page;lat[nwrites++]=(now-wbegan[w])/1e6;wpage[w]=rnd()%PAGES;wbegan[w]=now;tryw(w);}
      else if(r.kind==1){nreads++;submit((rnd()%PAGES)*8,1,0);}
      else{inflight--;copies++;
        if(pace){ /* tokens by the way of the sweep: a share of the room for each block passed */
          double left=C()-used();if(left<0)left=0;
          double span=(r.page?((bpages[r.page]-bpages[r.page-1])/(double)PAGES):0);
          if(pace==1)tokens+=A*left*span; else if(pace==3)tokens+=A*left/(used()+1); else tokens+=1;
          if(tokens>16)tokens=16;wake();}
        if(sent==nbatch&&!inflight){bstate=2;flush_end=now+flushms*1e6;}}
      start();}
    else{end_batch();wake();}
  }
  qsort(lat,nwrites,8,cmp);
  for(int i=1;i<c;i++)printf("%s ",v[i]);
  printf(": %.0f writes/s (home %.0f/s) reader %.0f/s direct %llu p50 %.2f p99 %.1f p99.9 %.1f max %.0f ms\n",nwrites/secs,nhome/secs,nreads/secs,(unsigned long long)ndirect,lat[nwrites/2],lat[(u64)(nwrites*.99)],lat[(u64)(nwrites*.999)],lat[nwrites-1]);
}
