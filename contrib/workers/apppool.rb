# frozen_string_literal: true

require "digest"
require "fcntl"
require "socket"

# The worker protocol of apppoold in plain Ruby, see apppool-worker(7).
#
#     worker = AppPool::Worker.new
#     load_all_that_is_needed
#     worker.template
#     worker.ready
#     worker.connections { |connection| serve(connection) }
#
# The loop ends when the daemon asks the process to stop, or is gone.
module AppPool
  MESSAGE_MAX = 4096
  # Room for the three descriptors of a FORK.
  CONTROL_MAX = 32

  # This process, as the daemon sees it.
  class Worker
    # The slot of a template is nil. The load is how busy the app was when the
    # connection in hand was given: 1.0 where all processes were, more where
    # connections waited; nil unless the app has load_report = true.
    attr_reader :app, :id, :slot, :load

    def initialize
      unless ENV["APPPOOL_PROTOCOL"] == "1"
        abort "to be started by apppoold (protocol 1)"
      end
      take_socket(Socket.for_fd(Integer(ENV.fetch("APPPOOL_FD"), 10)))
      @app = ENV.fetch("APPPOOL_APP")
      @id = ENV.fetch("APPPOOL_ID")
      @is_template = ENV["APPPOOL_TEMPLATE"] == "1"
      @slot = Integer(ENV.fetch("APPPOOL_SLOT"), 10) unless @is_template
      @keep_alive = ENV["APPPOOL_KEEP_ALIVE"] == "1"
      slow_signal = ENV["APPPOOL_SLOW_SIGNAL"]
      Signal.trap(slow_signal) { AppPool.print_stacks } if slow_signal
      # Programs started from here must not take them for theirs.
      %w[PROTOCOL FD APP ID SLOT TEMPLATE KEEP_ALIVE SLOW_SIGNAL].each do |name|
        ENV.delete("APPPOOL_#{name}")
      end
    end

    # Whether connections may be parked.
    def keep_alive?
      @keep_alive
    end

    # Initialised: connections may come.
    def ready
      say("READY")
      # The daemon knows a forked process from then on.
      begin_session if @was_forked
      @was_forked = false
    end

    # Why this process cannot go on; to be followed by its exit.
    def fail(text)
      say("FAIL", text)
    end

    # For the log and the event stream; not before ready.
    def event(text)
      say("EVENT", text)
    end

    # Shown beside this process in the status; not before ready.
    def status(text)
      say("STATUS", text)
    end

    # Asks to be handed no more; what is on its way still comes.
    def retire
      say("RETIRE")
    end

    # To be said between loading and ready. In the template of an app with
    # template = true it returns in each worker that is forked from it, and else
    # at once. The block, which may be left out, is called in each worker.
    #
    # The kernel's random numbers and Ruby's own, rand, begin anew in a forked
    # process; a Random.new does not. No other thread is in it.
    def template(&after_fork)
      @after_fork = after_fork
      serve_forks if @is_template
    end

    # Yields one connection after the other, closes and reports it. A block that
    # ends by an exception, or by break, leaves it unreported: it is lost.
    def connections(&block)
      fill_standard
      while (words, descriptors = receive)
        case words[0]
        when "STOP"
          return
        when "CONN"
          @load = words[3] && words[3].to_i / 1000.0
          serve(words[1], descriptors[0], &block)
        when "FORK"
          ready if fork_worker(words, descriptors)
        else
          raise ArgumentError, "unknown message #{words.join(' ').inspect}"
        end
      end
    end

    # Within the loop: the connection is idle, with all that was read of it
    # answered and nothing half read. It comes back, here or to another worker,
    # when the client goes on, if the app has keep_alive = true.
    def park(connection)
      # The flag is of the open file, and so the next worker's as well.
      flags = connection.fcntl(Fcntl::F_GETFL)
      if flags.anybits?(Fcntl::O_NONBLOCK)
        connection.fcntl(Fcntl::F_SETFL, flags & ~Fcntl::O_NONBLOCK)
      end
      connection.close
      say(@keep_alive ? "PARK" : "DONE", @serial)
      @serial = nil
    end

    private

    # One message, one line of ASCII, short enough.
    def say(verb, text = nil)
      line = text.to_s.scrub(" ").gsub(/[^ -~]/, " ")
      @socket.send("#{verb} #{line}".rstrip[0, MESSAGE_MAX], 0)
    rescue Errno::EPIPE, Errno::ECONNRESET
      # The daemon is gone, as receive will find.
    end

    def take_socket(socket)
      socket.close_on_exec = true
      @socket = socket
    end

    # The words of a message and its descriptors, or nil: the daemon is gone.
    def receive
      # Without the sizes Ruby would look first and take then, and what it saw
      # may have gone to another worker in between.
      message, _, _, *controls =
        @socket.recvmsg(MESSAGE_MAX, 0, CONTROL_MAX, scm_rights: true)
      return if message.nil? || message.empty?

      rights = controls.find { |one| one.cmsg_is?(:SOCKET, :RIGHTS) }
      [message.split(" "), rights ? rights.unix_rights : []]
    rescue Errno::ECONNRESET
      nil
    end

    def serve(serial, connection)
      return say("LOST", serial) unless connection

      begin
        @serial = serial
        yield connection
        connection.close
        say("DONE", @serial) if @serial
      ensure
        connection.close
      end
    end

    # Returns in each worker; this process ends with the daemon's wish for it.
    def serve_forks
      share_memory
      fill_standard
      ready
      while (words, descriptors = receive)
        break if words[0] == "STOP"
        return if fork_worker(words, descriptors)
      end
      exit
    end

    # Opens standard descriptors that a program has closed. Received ones would
    # have their numbers, and Ruby never closes these, nor forks without output.
    def fill_standard
      null = File.open(File::NULL, "r+") until null && null.fileno > 2
      null.close
      $stdout = IO.for_fd(1, "w", autoclose: false) if $stdout.closed?
      $stderr = IO.for_fd(2, "w", autoclose: false) if $stderr.closed?
    end

    # What has lived for some rounds is old and not written to any more, which
    # would be a copy of its page in each worker.
    def share_memory
      return Process.warmup if Process.respond_to?(:warmup)

      4.times { GC.start }
      GC.compact if GC.respond_to?(:compact)
    end

    # Answers a FORK; true in the process to be, if that is no template.
    def fork_worker(words, descriptors)
      _, serial, id, slot = words
      pid = try_to_fork
      return become(id, slot, *descriptors) if pid.nil?

      descriptors.each(&:close)
      say("FORKED", "#{serial} #{pid}")
      false
    end

    # As fork_twice, but 0 if a worker cannot. Where the limit of processes is
    # reached Ruby tries again each second.
    def try_to_fork
      fork_twice
    rescue SystemCallError => e
      return 0 unless @is_template

      self.fail("cannot fork: #{e.message}")
      exit(1)
    end

    # The number of a grandchild, an orphan and so the daemon's child; nil in
    # the grandchild.
    def fork_twice
      # Otherwise the child would print what lies there once more.
      [$stdout, $stderr].each(&:flush)
      from, to = IO.pipe
      middle = fork
      return if middle.nil? && grandchild?(to)

      to.close
      pid = from.gets
      await_end(middle)
      pid&.to_i or raise Errno::EAGAIN
    ensure
      [from, to].each { |pipe| pipe&.close }
    end

    # The process in the middle ends here.
    def grandchild?(to)
      middle = Process.pid
      pid = fork
      to.syswrite("#{pid}\n") if pid
      true
    rescue SystemCallError
      # The end of the pipe says so.
    ensure
      exit!(0) if Process.pid == middle
    end

    # The program may wait for children by itself.
    def await_end(pid)
      Process.wait(pid)
    rescue Errno::ECHILD
      nil
    end

    # Takes the place that the daemon has for a forked process.
    def become(id, slot, socket, *output)
      @socket.close
      take_socket(socket)
      # STDOUT or STDERR may have been closed, which leaves their numbers.
      output.each.with_index(1) do |from, number|
        IO.for_fd(number, "w", autoclose: false).reopen(from)
        from.close
      end
      Process.setpgid(0, 0)
      @id = id
      @is_template = slot == "template"
      @slot = @is_template ? nil : Integer(slot, 10)
      @was_forked = true
      @is_template ? serve_forks : @after_fork&.call
      true
    end

    # Each session has its share of the processors from the scheduler. The leader
    # of a group has to join another one to leave it, and leads it again where it
    # cannot: one of its children is there.
    def begin_session
      Process.setpgid(0, Process.getsid)
      Process.setsid
    rescue SystemCallError
      Process.setpgid(0, 0)
    end
  end

  # Where all threads are, on standard error: the answer to slow_signal.
  def self.print_stacks
    stacks = Thread.list.map do |thread|
      ["#{thread.inspect}:", *thread.backtrace].join("\n  ")
    end
    STDERR.syswrite("#{stacks.join("\n")}\n")
  rescue SystemCallError, IOError
    # Nobody reads it.
  end

  # Seconds, for differences.
  def self.now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # Reads what the client still sends before the connection is closed.
  #
  # Closing a TCP socket with input unread resets the connection, which can take
  # the answer from the client before that has read it.
  def self.linger(connection, seconds: 2, size: 65_536)
    ending = now + seconds
    connection.shutdown(:WR)
    while size.positive? && (left = ending - now).positive? &&
          connection.wait_readable(left)
      size -= connection.readpartial([size, 8192].min).bytesize
    end
  rescue SystemCallError, IOError
    # The client has left.
  end

  # The key to lock where at most so many kinds of work are told apart.
  def self.slot_key(kind, key, slots)
    "#{kind}:#{Digest::SHA1.hexdigest(key)[0, 4].hex % slots}"
  end

  # The service cannot be reached (any more), or finds fault with the request:
  # go on without the lock.
  class CounterError < StandardError; end

  # Locks with a limit, of a PoolCounter service; see apppool-counter(7).
  #
  #     AppPool::Counter.open do |counter|
  #       word = counter.lock("report", 1, 50, timeout: 10, anyone: true)
  #       if word == "LOCKED"
  #         compute_and_store
  #         counter.unlock("report")
  #       end
  #     end
  #
  # The address may be that of several servers, with commas between them: a key
  # is locked at the first that takes a connection within connect_timeout, in
  # the order of MediaWiki. The locks end with the connections. Each thread has
  # one of its own.
  class Counter
    # One server: a connection, or when it may be tried again.
    class Server
      attr_reader :name, :why_down

      def initialize(name, connect_timeout)
        @name = name
        @connect_timeout = connect_timeout
        @down_until = 0
      end

      def connected?
        !@socket.nil?
      end

      # Whether there is a connection now; else why_down says more.
      def connect
        return true if @socket
        return false if AppPool.now < @down_until

        @socket = open_socket
        true
      rescue SystemCallError, SocketError, IOError => e
        @down_until = AppPool.now + 1
        @why_down = "#{@name}: #{e.message}"
        false
      end

      def close
        @socket&.close
        @socket = nil
      end

      # The answer, or CounterError and the connection is closed.
      def ask(line, patience)
        @socket.write("#{line}\n")
        read_line(AppPool.now + patience)
      rescue SystemCallError, IOError => e
        close
        raise CounterError, "#{@name}: #{e.message}"
      end

      private

      def open_socket
        if @name.start_with?("unix:")
          return connect_unix(@name[5..].sub(/\A@/, "\0"))
        end

        host, port = @name.match(/\A(.*?)(?::(\d+))?\z/).captures
        host = host[1..-2] if host.start_with?("[")
        Socket.tcp(host, port || 7531, connect_timeout: @connect_timeout)
      end

      def connect_unix(path)
        socket = Socket.new(:UNIX, :STREAM)
        # A full queue is not waited for.
        socket.connect_nonblock(Socket.sockaddr_un(path))
        socket
      rescue SystemCallError
        socket&.close
        raise
      end

      def read_line(deadline)
        reply = +""
        until reply.end_with?("\n")
          unless @socket.wait_readable([deadline - AppPool.now, 0].max)
            raise Errno::ETIMEDOUT
          end
          reply << @socket.readpartial(1024)
        end
        reply.chomp
      end
    end

    # With a block: closes the counter behind it.
    def self.open(...)
      counter = new(...)
      return counter unless block_given?

      begin
        yield counter
      ensure
        counter.close
      end
    end

    def initialize(address = ENV.fetch("APPPOOL_COUNTER"), patience: 2,
                   connect_timeout: 0.1)
      @servers = address.split(",").map do |name|
        Server.new(name, connect_timeout)
      end
      @patience = patience
      @locks = [] # server and key, the newest last
    end

    def close
      @servers.each(&:close)
      @locks.clear
    end

    # LOCKED, DONE, QUEUE_FULL, TIMEOUT or LOCK_HELD.
    def lock(key, workers, maxqueue, timeout: 0, anyone: false)
      unless key.match?(/\A[^ \r\n]+\z/)
        raise ArgumentError, "not a key: #{key.inspect}"
      end

      verb = anyone ? "ACQ4ANY" : "ACQ4ME"
      seconds = format("%.3f", timeout).sub(/\.?0+\z/, "")
      server, reply = ask_first(
        key, "#{verb} #{key} #{workers} #{maxqueue} #{seconds}", timeout
      )
      raise CounterError, reply if reply.start_with?("ERROR")

      @locks << [server, key] if reply == "LOCKED"
      reply
    end

    # Gives back the newest lock of the key, or of all; whether there was any.
    def unlock(key = nil)
      held = @locks.rindex { |_, of| key.nil? || of == key }
      return false unless held

      server, = @locks[held]
      reply = ask(server, "RELEASE #{key}".rstrip)
      @locks.delete_at(held)
      reply == "RELEASED"
    end

    private

    # The server of the key and its answer.
    def ask_first(key, line, timeout)
      idle = @servers.select(&:connected?) - @locks.map(&:first)
      server = choose(key)
      [server, ask(server, line, timeout)]
    rescue CounterError => e
      # A server that was restarted has ended idle connections.
      raise if e.cause.is_a?(Errno::ETIMEDOUT) || !idle.include?(server)

      retry
    end

    def choose(key)
      order = @servers.sort_by { |one| Digest::MD5.digest(one.name + key) }
      order.find(&:connect) or raise CounterError, order.last.why_down
    end

    def ask(server, line, wait = 0)
      server.ask(line, wait * 1.5 + @patience)
    rescue CounterError
      @locks.reject! { |of, _| of.equal?(server) }
      raise
    end
  end
end
