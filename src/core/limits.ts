/**
 * The maxima of the format, the fold and the mesh, with unit and reason: what is a promise, or what several files must
 * agree on. What bounds one place alone stands in that place, named. Long because a list of bounds is
 * read whole. Source: docs/format.md.
 */

/** Bytes of one log line without its newline. */
export const lineBytesMax: number = 32_768;
/** Bytes of a body that a writer makes: leaves a line room for its envelope and an approval by an RSA key of 8 192 bits. */
export const bodyBytesMax = 28_000;
/** Levels of nesting of any canonical object; the deepest legal one (genesis op) needs 5. */
export const jsonDepthMax = 6;
/** A segment file is sealed once it holds at least this many bytes: an append rewrites one open segment only. */
export const segmentSealBytes = 16_384;
/** Bytes of a segment file: one byte short of sealed, plus the longest line and its newline. */
export const segmentBytesMax: number = segmentSealBytes - 1 + lineBytesMax + 1;
/** Entries of every folder of a log tree; three levels hold 64^3 segments. */
export const segmentFanout = 64;
/** Lines of one log: 64^3 segments of one line each is the smallest possible capacity; refuse beyond, never wrap. */
export const segmentsMax: number = segmentFanout ** 3;

/** Lines from which one commit goes through the bulk path, which costs a process and leaves a pack. */
export const bulkLinesMin = 2_000;
/** Bytes of one trust op file; the largest legal one is a genesis with 64 classes. */
export const trustOpBytesMax = 65_536;
/** Heads of one view line: with the digests of 64 audiences it stays below `lineBytesMax`. A larger mesh publishes none. */
export const viewHostsMax = 200;
/** Bytes of a `manifest.json`: the longest view line, a co-signature of each of 200 hosts, a hash of each view file. */
export const manifestBytesMax = 65_536;
/** View files that one manifest names; there are five. */
export const manifestFilesMax = 16;
/** Bytes of the file `notes` of a view journal: what a host notified, a line each, of thousands of alarms. */
export const viewNotesBytesMax = 131_072;
/** The view journal: least time between two lines, and between two when no park and no alarm came or went. */
export const viewLineMinMs = 1_000;
export const viewLineCalmMs = 60_000;
/** A peer's view branches are asked for with its next logs, or after this time. */
export const viewFetchMs = 600_000;
/** Bytes of each of the two files of the host's own fine journal, which stays at home: days of a busy host. */
export const fineJournalBytesMax: number = 8 * 1_024 * 1_024;
/** What hosts said of one input, compared with what this host says of it: so many inputs, of itself and of each host. */
export const statementsKeptMax = 1_024;

/** Trust ops of one mesh. Each is made by a person; 10 000 is years of a fleet. */
export const trustOpsMax = 10_000;
/** Files of branch `trust`: the ops, a fork-proof for each that brought a host its key, and what is not dropped yet. */
export const trustFilesMax: number = 2 * trustOpsMax;
/**
 * Files of branch `trust` that the set does not keep (void ops beyond their bound, fork-proofs with a lower one beside them)
 * before they are dropped. Some stay: a revocation that is voided in its turn makes ops count again.
 */
export const trustIdleFilesMax = 1_024;
/** Ancestor ids in `prev` of one trust op. */
export const trustPrevMax = 64;
/** Pending trust ops (an ancestor missing) kept per peer. */
export const trustPendingMax = 256;
/** Classes, audiences, policy keys of one genesis; includes of one audience. A mesh has tens, and each is read by people. */
export const trustItemsMax = 64;
/** Scopes of one signer: enough to name every class of a mesh. */
export const trustScopesMax = 64;
/** Hosts that one signer-revoke gives a mark: more than a fleet of one person, and it still fits the op file. */
export const trustMarksMax = 256;
/** Events that one purge names: each skeleton takes up to 8 KiB of the op file. */
export const trustPurgeTargetsMax = 64;
/** Lines that one delegation lends: what a person can still take in at a glance, and days of a busy host. */
export const trustDelegationLinesMax = 10_000;
/** Valid but void ops kept per revoked signer: a thief with the key can make any number of them. */
export const trustVoidMax = 64;
/** Revocations offered at once that are tried in vain on a full trust set. */
export const trustRoomTriesMax = 32;
/** UTF-8 bytes of the description of a class: one line of a list. */
export const trustDescriptionBytesMax = 280;
/** UTF-8 bytes of a policy value that is a text. */
export const trustPolicyBytesMax = 512;
/** Characters of a host address: a DNS name of 253 with scheme and port. */
export const trustAddressBytesMax = 270;
/** Characters of a base64 SSHSIG: an RSA key of 8 192 bits with its signature needs 2 900. */
export const trustSshsigBytesMax = 4_096;

/** UTF-8 bytes and list lengths of the event body. Source: docs/format.md, field table. */
export const sessionBytesMax = 128;
export const contentBytesMax = 4_000;
export const valueBytesMax = 512;
export const hookBytesMax = 280;
export const textBytesMax = 24_000;
export const homeBytesMax = 512;
export const basisIdsMax = 16;
export const supersedesIdsMax = 64;
export const namesMax = 16;
export const nameBytesMax = 80;

/** Ids kept in full in a state record; longer lists become count + digest + the first 8. */
export const recordIdsMax = 8;

/** Resident index: a harness loads at most 200 lines or 25 KB of its memory file and cuts the rest silently. */
export const indexBytesDefault = 22_000;
export const indexLinesDefault = 180;

/** Appends that may share one commit. Bounds the size of one blob write and the wait of the first in the queue. */
export const appendBatchMax = 1_000;
/** Events in one `append --file` transaction. */
export const transactionEventsMax = 100_000;
/** Events that one `memctl log` lists at most. */
export const listedEventsMax = 100_000;
/** Hits of a word query that are ranked: many times what anybody reads, in less than 10 ms. */
export const rankedEventsMax = 4_000;
/** Hits that are looked at, best first, until an answer has as many lines as were asked for. */
export const searchedEventsMax = 500;
/** Lines of one answer of search or why, and bytes of what is looked for. */
export const foundEventsMax = 1_000;
export const searchBytesMax = 512;
/** Rows whose words are held in memory before they are indexed. */
export const wordChunkRows = 10_000;
/** How often memd lets a client know that its request is still being worked on, and how long a client waits for a word. */
export const apiHeartbeatMs = 5_000;
export const apiSilenceMs = 60_000;
/** Requests of one connection that are under way at once; more wait. */
export const apiRequestsMax = 256;
/**
 * How long a command without memd, or a memd that starts, waits for whoever holds the home: for one holder, and for all of
 * them together. Commands that come one after the other are no sign that one of them is stuck.
 */
export const homeLockWaitMs = 2_000;
export const homeLockWaitsMs = 30_000;
/** Branches of one host that are kept beside its log: the other sides of its forks. */
export const forkBranchesMax = 64;
/** How long an append waits until any peer at all has said what it holds, before it is refused. */
export const ownLogWaitMs = 10_000;
/** How long the first append of a process waits for peers to say what they hold of this host's own log. */
export const ownLogAskMs = 2_000;
/** And how long for the proof of one that says it holds more, and does not come up with it. */
export const ownLogProofMs = 15_000;
/** Bytes of one request or answer line on the local socket. */
export const apiLineBytesMax: number = 128 * 1_024 * 1_024;

/** Bytes of a commit that is read, ours or a peer's; ours have about 300. */
export const commitBytesMax = 65_536;

/** Fetch: bytes beyond the announced size; idle and whole-call deadlines; commits and objects of one round. */
export const fetchSlackBytes: number = 1_048_576;
export const fetchIdleMs = 30_000;
export const fetchDeadlineMs = 300_000;
/** Bytes that count as more than silence in that time once a pack comes; and how long the other end may take to begin one. */
export const fetchSlowBytes = 4_096;
export const fetchBeginMs = 120_000;
/** Commits and objects of one log, whatever a peer announces: memd holds the id of each commit while it judges them. */
export const fetchCommitsMax = 200_000;
export const fetchObjectsMax = 1_000_000;
/**
 * A longer history comes in rounds of so many commits: git holds every object of a pack in memory at both ends, and where each
 * commit has one line these are 50 000. Objects of one round: the folders and segments of its newest commit besides.
 */
export const fetchRoundCommitsMax = 10_000;
export const fetchRoundObjectsMax = 150_000;
/** Bytes of one fetch, whatever a peer announces. */
export const fetchBytesMax: number = 2 * 1_024 ** 3;
/** Bytes and objects of one fetch from a peer that cost something in vain lately; 150 000 are 25 000 lines appended one by one. */
export const fetchDoubtedBytesMax: number = 64 * 1_024 * 1_024;
export const fetchDoubtedObjectsMax = 150_000;
/** Bytes of a pack up to which nobody looks whether it holds what no commit names: about what 100 lines are with all their commits. */
export const fetchPaddingBytesMax: number = 256 * 1_024;
/** Bytes that fetching leaves free on the disk, for appends: thousands of them; and the part of a small disk. */
export const fetchReserveBytes: number = 64 * 1_024 * 1_024;
export const fetchReservePart = 16;
/**
 * Objects up to which what was fetched is written loose instead of being kept as a pack: about ten commits. Each loose
 * object costs two fsyncs, a pack three in all: 830 objects took 2.0 s loose and 0.3 s as a pack.
 */
export const fetchLooseObjectsMax = 64;
/** Bytes of the `memd heads` answer. */
export const headsBytesMax = 1_048_576;

/** ssh server: before login. */
export const sshLoginGraceMs = 10_000;
/** Notes of the ssh server in the log: one line for each code and address in this time, for at most so many of them. */
export const noteWindowMs = 60_000;
export const noteAddressesMax = 256;
export const sshConnectionsMax = 32;
export const sshConnectionsPerAddressMax = 4;
export const sshAuthAttemptsMax = 3;
export const sshChannelsMax = 4;

/** ssh server: after login. Connections of one host: one is kept, the rest are restarts that keepalive has not noticed yet. */
export const sshConnectionsPerHostMax = 8;
/** Sessions that a connection may open and close again without a command, before it is ended. */
export const sshWastedSessionsMax = 16;
/** A session that asks for nothing, and a connection that has no session: nobody who means well leaves either. */
export const sshSessionGraceMs = 10_000;
export const sshIdleMs = 300_000;
/** `memd watch`: how often one peer is told what this host holds, at most. */
export const watchIntervalMs = 50;
/** And how often one peer makes this host look, at most; the newest line counts. */
export const watchHeedMs = 100;
/** A line that takes longer to read than what small meshes say is followed by a rest of so many times that: a fiftieth of the time. */
export const watchReadFreeMs = 2;
export const watchReadRest = 50;
/** Lines and bytes of one watch in this time: twice what a peer that keeps to the interval can send. More is a flood. */
export const watchWindowMs = 10_000;
export const watchLinesMax = 400;
export const watchBytesMax: number = 16 * 1_024 * 1_024;
/** `git upload-pack` children at one time, over all peers; how long one may take; bytes of request one may be sent. */
export const uploadPacksMax = 16;
/** And of one peer over all its connections, so that none can take all of them: a sound one fetches one thing at a time. */
export const uploadPacksPerHostMax = 4;
/** How nice they are to everything else of this machine: whoever fetches without a pause takes what time is left. */
export const uploadPackNiceness = 10;
/**
 * Commands of one host besides those, each half a millisecond: so many at once and then so many a second; and how many may
 * wait for their turn. A cycle asks one or two.
 */
export const commandsBurst = 500;
export const commandsPerSecond = 50;
export const commandsWaitingMax = 4;
export const uploadPackDeadlineMs = 600_000;
/**
 * What each git process of one answer may allocate: a round of a fetch takes about 22 MiB of it. With its program and the parts of packs that
 * it maps it stays below 64 MiB.
 */
export const servePackHeapBytesMax: number = 46 * 1_048_576;
export const uploadRequestBytesMax: number = 8 * 1_024 * 1_024;
/** Bytes that may wait in the socket of a peer that reads slowly, before its child is paused. */
export const socketBacklogBytesMax: number = 1_048_576;
/** Ports tried upward from the asked one when that is taken. */
export const listenProbesMax = 20;
/** How long a closing server or connection waits for the other end. */
export const meshCloseGraceMs = 1_000;
/** ssh client: dialling with login, and one short command. */
export const dialDeadlineMs = 10_000;
export const headsDeadlineMs = 10_000;
/** Dialling one of several addresses, before the next is tried; how long one that failed is left out while there is another way. */
export const dialOtherMs = 3_000;
export const dialForgetMs = 300_000;
/** The ssh program of the system as a pipe to a peer: kept for a week, then made anew. */
export const sshPipeMs: number = 7 * 86_400_000;
/** `memctl serve --stdio` without memd: how often it looks whether branches moved, or memd has come. */
export const stillPollMs = 1_000;
/** Addresses of one host that are tried because other hosts told of them. */
export const relayedAddressesMax = 3;
/** One cycle with one peer; a whole first fetch must fit. */
export const cycleDeadlineMs = 360_000;
/** How long a purge waits for fetches under way before it ends their connections; all other fetches wait for it meanwhile. */
export const purgePatienceMs = 3_000;
/** How long a cycle waits for another peer's fetch of the same lines before it fetches them itself. */
export const sharedFetchWaitMs = 1_000;
/** After this time data that a peer was refused for is tried again, unchanged as it may be. */
export const refusalForgetMs = 600_000;
/** How much later than a cycle's own deadlines, which tell more, it is given up. */
export const cycleGiveUpMs = 500;
/** A peer that cannot be reached is left alone for this long after the first failure, twice as long after each more, up to the maximum. */
export const backOffMs = 1_000;
export const backOffMaxMs = 300_000;
/**
 * What a peer costs in vain (refused, or nothing new): the part of the time that it may take in the long run, what it may
 * take at once before it has to rest, the longest rest, and what silence is charged as.
 */
export const vainShare = 0.02;
export const vainBurstMs = 1_000;
export const vainRestMaxMs = 300_000;
export const vainSilenceMs = 500;
/**
 * What folding new lines may take before it is charged to the host that wrote them: once, and for each line. An ordinary line
 * takes 0.05 ms; one of a subject with thousands of claims takes as long as it takes to judge them all anew, some 50 ms.
 */
export const foldFreeMs = 250;
export const foldFreeLineMs = 2;
/**
 * What fetching good lines of one log may take of the time in the long run, what it may take at once, and the longest wait
 * for the next ones: each fetch costs the same whether it brings one line or a thousand.
 */
export const goodShare = 0.1;
export const goodBurstMs = 20_000;
export const goodRestMaxMs = 5_000;
/** How long `--sync` may wait for peers: longer than any of their schedules, shorter than a forgotten script. */
export const syncTimeoutMaxMs = 3_600_000;
/** And how long it waits when nobody says. */
export const syncTimeoutMs = 30_000;
/** How often peers are asked what they hold while somebody waits for them to hold something. */
export const replicationPollMs = 500;
/** After this time a peer that would not be watched is asked again. */
export const watchAgainMs = 600_000;
/** After a start or a sleep, how long a peer that is slow to answer keeps this host from telling what it knows. */
export const catchUpMs = 30_000;
/** Alarms of one peer in one cycle; a flood is one alarm with a count. */
export const peerAlarmsMax = 64;

/** One bulk append through git fast-import, while its lines are built; 100 000 lines take about 5 s. */
export const bulkDeadlineMs = 600_000;

/** git fsck and git repack over a repository of millions of events. */
export const maintenanceDeadlineMs = 1_800_000;

/** A repair asks git for the names of all objects: about 60 bytes for each of some millions. */
export const objectListBytesMax: number = 512 * 1_048_576;

/** A repair reads no larger object: the largest that this program writes is far smaller, and what inflates to more is none of ours. */
export const anyObjectBytesMax: number = 64 * 1_048_576;

/**
 * Maintenance. Commits of one pack: git holds all its objects in memory, and so many commits of one line are 100 000 objects.
 * A pack that grows is flushed every so often: then no append waits for the flush of more than a few MB.
 */
export const packCommitsMax = 20_000;
export const packFlushMs = 50;
/**
 * What is due is told by counts. Loose objects: about 170 appends, whose files fill blocks of 4 KiB; fewer, after a quiet day.
 * Packs: 300 made a fetch 2.6 times slower. Objects in packs of others: less is not worth while.
 */
export const maintainLooseMin = 1_000;
export const maintainLooseQuietMin = 64;
export const maintainPacksMax = 20;
export const maintainForeignMin = 10_000;
export const maintainQuietMs = 86_400_000;
/** What a full disk stopped is tried again after this time at the earliest, once there is room. */
export const maintainRetryMs = 60_000;
/** How long after a start or a sleep: peers are asked first, and sessions begin. */
export const maintainAfterStartMs = 60_000;
/** What stays free on the disk, for appends, while a pack is made. */
export const maintainFreeBytesMin: number = 64 * 1_024 * 1_024;

/** git, ssh-keygen: how long a child may take, and how much it may say. */
export const childDeadlineMs = 30_000;
export const childOutputBytesMax: number = 256 * 1_024 * 1_024;
export const childStderrBytesMax = 65_536;
/** How long its pipes stay open after its process group was ended. */
export const childPipesMs = 500;

/** Import: bytes of one note or index, of one JSON lines file, and notes of one folder. */
export const importNoteBytesMax = 262_144;
export const importFileBytesMax: number = 64 * 1_024 * 1_024;
export const importFilesMax = 10_000;
/** One line of an imported graph or log: an entity with all that was ever remarked on it. */
export const importGraphLineBytesMax: number = 1_048_576;

/** Views: the smallest budget that an index is written for; a smaller one is raised to it. */
export const indexBytesMin = 4_000;
export const indexLinesMin = 40;
/** Bytes of claim text in one row of the index, before escaping marks a cut: 180 rows of it use up the byte budget. */
export const indexRowBytesMax = 200;
/** The part of the index that unresolved subjects may take before anything else: one in this many lines and bytes. */
export const indexUnresolvedPart = 4;
/** Subjects named per host as its newest changes, and the part of the byte budget that the whole line may take. */
export const indexNewestPerHost = 2;
export const indexNewestPart = 10;
/** Bytes and lines of each of CONFLICTS.md, QUARANTINE.md and STALE.md; they are read on demand, not loaded whole. */
export const viewBytesMax = 262_144;
export const viewLinesMax = 4_000;
/** CONFLICTS.md: bytes of a claim's text, sides of one subject and claims of one side that are named. */
export const conflictTextBytesMax = 600;
export const conflictSidesMax = 16;
export const conflictClaimsMax = 8;

/** config.toml: its bytes, and entries of each list or table of names in it. A person writes it. */
export const configBytesMax = 65_536;
export const configEntriesMax = 64;
/** Bytes of a file that is read as a home, before anything is cut out of it: a long document; a log or a dump is none. */
export const homeFileBytesMax: number = 1_024 * 1_024;
/** Bytes of a home's text that one recall shows. */
export const homeTextBytesMax = 16_000;
/** One git call that reads a home, and one whole https request with its name look-up. A person waits for both. */
export const homeGitDeadlineMs = 5_000;
export const homeHttpsDeadlineMs = 10_000;
/** Folders that are looked at upwards for the root of a project. */
export const projectDepthMax = 64;
/** Bytes of a `.memd` file and of the small files of a git folder. */
export const scopeFileBytesMax = 4_096;
/** The smallest budgets of a view target: the smallest index and the line that marks it as generated. */
export const targetBytesMin = 4_200;
export const targetLinesMin = 41;

/** Session start: Claude Code cuts hook text at 10 000 characters, Codex at 2 500 tokens of 4 bytes; this is below both. */
export const sessionTextBytesMax = 9_000;
/** The first part of it stands alone: a harness that previews long text shows about this much. All that subagents get. */
export const sessionFirstBytesMax = 2_000;
/** The note at a prompt about what changed since: bytes, and subjects named. */
export const sessionNoteBytesMax = 1_500;
export const sessionNoteSubjectsMax = 8;
/** Sessions whose given rows memd keeps in memory; older ones are read from their record. */
export const sessionsKeptMax = 256;
/** Room on a disk below which a home tries whether it can still write: a commit and what follows it need less. */
export const diskRoomBytesMin: number = 1_024 * 1_024;
/** Bytes of the file that is written to find out, and removed: more than the objects of an ordinary append. */
export const diskTrialBytes = 65_536;
/** Room beside the old file that a database is given before it is made again on a disk that was full. */
export const databaseRoomBytes: number = 4 * 1_024 * 1_024;

/** Bytes of hook input that are read; a prompt with a file pasted into it can be long, and only ids are needed. */
export const hookInputBytesMax: number = 4 * 1_024 * 1_024;
/** How long a hook waits for its input to end, and for memd to answer, before it goes on without. */
export const hookInputWaitMs = 300;
export const hookAnswerWaitMs = 400;
/** How long a session start waits for git to say which project a folder is in; the answer is kept for the next one. */
export const sessionScopeWaitMs = 300;
/** Bytes of hooks.log and of injected.jsonl; one older file of each is kept beside. */
export const hooksLogBytesMax = 131_072;
export const injectedBytesMax: number = 2 * 1_024 * 1_024;

/** Days after which a peer that answers and brings nothing new is worth a note. */
export const quietDaysDefault = 3;

/** How often memd writes down when it last met its peers: a start forgets at most so much. */
export const peerMemoryMs = 60_000;
/** How far an event may claim to be in the future before somebody's clock is said to be wrong. */
export const clockSkewMs = 600_000;

/** Notifying: how much longer each further host waits, by its rank, before it tells what another should have told. */
export const notifyRankMs = 30_000;
/** How soon after something was raised or cleared every host looks at what others told of it, so that it is known when they are gone. */
export const notifyLearnMs = 3_000;
/** How long the notes of peers are waited for before something is told: a second host that tells is worse than a late one. */
export const notifyReadMs = 5_000;
/** What other hosts say was told and is not so here: their lines may still be on their way. */
export const notifyLagMs = 120_000;
/** The shortest time between two messages of one notifier: what comes meanwhile is one message. */
export const notifyGapMs = 5_000;
/** A notifier that fails is tried again after this long, twice as long after each more, up to the maximum. */
export const notifyBackOffMs = 5_000;
export const notifyBackOffMaxMs = 300_000;
/** Things that one notifier still has to tell; more are dropped, and the number is told. */
export const notifyWaitingMax = 1_000;
/** Things that one message spells out; the rest is a number. */
export const notifyShownMax = 5;
/** Things told that are remembered; 1 000 of the longest keep the notes below `viewNotesBytesMax`. */
export const notifyToldMax = 1_000;
/** One attempt of a notifier, and bytes of what a web server answers to it. */
export const notifyDeadlineMs = 20_000;
export const notifyAnswerBytesMax = 4_096;

/** ms without a change of the fold after which memd favours memory over speed: longer than the pauses of somebody at work. */
export const quietAfterMs: number = 3_000;
