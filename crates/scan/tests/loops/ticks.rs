// expect servers-in-turn: retry attempts=infinite
fn servers_in_turn(&mut self, forever: bool) -> io::Result<Stream> {
    let mut last = Error::new(ErrorKind::AddrNotAvailable, "nobody");
    loop {
        let mut servers = self.servers()?;
        shuffle(&mut servers);
        for server in &servers {
            let pause = self.pause_before(server);
            let found = match server.addresses() {
                Ok(found) => found,
                Err(error) => {
                    last = error;
                    continue;
                }
            };
            for address in found {
                thread::sleep(pause);
                match self.connect_address(address, server) {
                    Ok(stream) => return Ok(stream),
                    Err(error) => last = error,
                }
            }
        }
        if !forever {
            return Err(last);
        }
    }
}

// Each of them once.
fn each_once(&mut self) -> io::Result<Stream> {
    for server in self.servers()? {
        if let Ok(stream) = self.connect_address(server) {
            return Ok(stream);
        }
        thread::sleep(self.pause);
    }
    Err(Error::new(ErrorKind::AddrNotAvailable, "nobody"))
}
